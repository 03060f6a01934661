package main

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/progress"
)

type followCommand struct {
	File string `arg:"" help:"Options.Checkpoint or Options.History of the run."`
}

// Run shows the line of progress.Line on standard error.
func (f *followCommand) Run() error {
	h, err := progress.Follow(f.File)
	switch {
	case err != nil:
		return fedkit.Invalid("file", f.File, "one that a run writes: "+err.Error())
	case h == nil || h.Stopped:
		return errStopped
	}
	return nil
}
