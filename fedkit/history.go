package fedkit

import "fedkit.example/fedkit/history"

// A run's results. Package history has the rest: the types within a record, reading a file without per-client data.
type (
	History      = history.History      // the result of a run
	Record       = history.Record       // one round
	Score        = history.Score        // loss and accuracy of a model
	ClientResult = history.ClientResult // a client's local solve
	ServerResult = history.ServerResult // the training at the server
	Float        = history.Float        // a number that may be NaN or infinite in JSON
)

// Load reads a history that History.Save or a run with Options.History wrote: see history.Load.
func Load(path string) (*History, error) { return history.Load(path) }
