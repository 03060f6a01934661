package progress

import "fedkit.example/fedkit/internal/checkpoint"

// Status is the progress of a run, as Read sees it.
type Status = checkpoint.Progress

// Read reads the progress of a run from the file that it writes, at the path of Options.History or Options.Checkpoint. It works
// from any process, does not disturb the run, and notices at once if the run was killed.
//
// Errors: no such file; a file that history.LoadLight refuses.
func Read(path string) (*Status, error) { return checkpoint.ReadProgress(path) }
