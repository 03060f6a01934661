package fedkit

import (
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/checkpoint"
)

// What happened in a run, and the files that hold it, are in package history.
type (
	History    = history.History    // what happened in a run
	Record     = history.Record     // one round
	Score      = history.Score      // loss and accuracy of a model
	Float      = history.Float      // a number that may be NaN or infinite in JSON
	Spread     = history.Spread     // accuracy over clients
	Training   = history.Training   // what the clients of a round did together
	Summary    = history.Summary    // of what a record leaves out
	Solve      = history.Solve      // what a client did in a round
	Miss       = history.Miss       // a client without a result
	Clustering = history.Clustering // how good a clustering is
	Sight      = checkpoint.Sight   // how far a run is
)

// Load reads a history that History.Save or a run with Options.History wrote: see history.Load.
func Load(path string) (*History, error) { return history.Load(path) }

// LoadLight is Load without what is known of each client: see history.LoadLight.
func LoadLight(path string) (*History, error) { return history.LoadLight(path) }

// ParseHistory is Load for what is in a file: see history.Parse.
func ParseHistory(file []byte, whole bool) (*History, error) { return history.Parse(file, whole) }

// Look says how far the run is that writes a file, from any program. The path is that of Options.History or Options.Checkpoint.
// The run is not disturbed. One that is killed goes on no more, at once.
//
// Errors: no such file; a file that LoadLight refuses.
func Look(path string) (*Sight, error) { return checkpoint.Look(path) }
