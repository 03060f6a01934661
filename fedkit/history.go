package fedkit

import (
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/checkpoint"
)

// Histories and their files are in package history.
type (
	History    = history.History    // the result of a run
	Record     = history.Record     // one round
	Score      = history.Score      // loss and accuracy of a model
	Float      = history.Float      // a number that may be NaN or infinite in JSON
	Spread     = history.Spread     // distribution of accuracy over clients
	Training   = history.Training   // totals of a round's local training
	Summary    = history.Summary    // of what a record leaves out
	Solve      = history.Solve      // a client's local solve
	Miss       = history.Miss       // a client without a result
	Clustering = history.Clustering // quality of a clustering
	Sight      = checkpoint.Sight   // progress of a run
)

// Load reads a history that History.Save or a run with Options.History wrote: see history.Load.
func Load(path string) (*History, error) { return history.Load(path) }

// LoadLight is Load without per-client data: see history.LoadLight.
func LoadLight(path string) (*History, error) { return history.LoadLight(path) }

// ParseHistory is Load for the bytes of a file: see history.Parse.
func ParseHistory(file []byte, whole bool) (*History, error) { return history.Parse(file, whole) }

// Look reads the progress of a run from the file that it writes, at the path of Options.History or Options.Checkpoint. It works from
// any process, does not disturb the run, and notices at once if the run was killed.
//
// Errors: no such file; a file that LoadLight refuses.
func Look(path string) (*Sight, error) { return checkpoint.Look(path) }
