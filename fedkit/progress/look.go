package progress

import "fedkit.example/fedkit/internal/checkpoint"

// Sight is the progress of a run, as Look sees it.
type Sight = checkpoint.Sight

// Look reads the progress of a run from the file that it writes, at the path of Options.History or Options.Checkpoint. It works from
// any process, does not disturb the run, and notices at once if the run was killed.
//
// Errors: no such file; a file that history.LoadLight refuses.
func Look(path string) (*Sight, error) { return checkpoint.Look(path) }
