package main

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/plot"
)

type followCommand struct {
	File string `arg:"" help:"Options.Checkpoint or Options.History of the run."`
}

// Run shows the line of plot.Live on standard error.
func (f *followCommand) Run() error {
	h, err := plot.FollowProgress(f.File)
	switch {
	case err != nil:
		return fedkit.Invalid("file", f.File, "one that a run writes: "+err.Error())
	case h == nil || h.Stopped:
		return errStopped
	}
	return nil
}
