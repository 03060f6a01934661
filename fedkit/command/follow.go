package command

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/progress"
)

type followCommand struct {
	File string `arg:"" help:"Options.Checkpoint or Options.History of the run."`
	form
}

// Run shows the line of progress.Line on standard error. In JSON it prints the rounds at the end.
func (f *followCommand) Run(c *console) error {
	h, err := progress.Follow(f.File)
	if err != nil {
		return fedkit.Invalid("file", f.File, "one that a run writes: "+err.Error())
	}
	for i := 0; f.JSON && h != nil && err == nil && i < len(h.Rounds); i++ {
		err = c.lines().Encode(lineOf(&h.Rounds[i]))
	}
	switch {
	case err != nil:
		return err
	case h == nil || h.Stopped:
		return errStopped
	}
	return nil
}
