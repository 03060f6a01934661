package fedkit

import "fedkit.example/fedkit/history"

// What happened in a run, and the files that hold it, are in package history.
type (
	History    = history.History
	Record     = history.Record
	Score      = history.Score
	Float      = history.Float
	Spread     = history.Spread
	Training   = history.Training
	Summary    = history.Summary
	Solve      = history.Solve
	Miss       = history.Miss
	Clustering = history.Clustering
)

// Load reads a history that History.Save or a run with Options.History wrote: see history.Load.
func Load(path string) (*History, error) { return history.Load(path) }

// LoadLight is Load without what is known of each client: see history.LoadLight.
func LoadLight(path string) (*History, error) { return history.LoadLight(path) }

// LoadAll reads the histories that a pattern names: see history.LoadAll.
func LoadAll(pattern string) ([]*History, error) { return history.LoadAll(pattern) }

// ParseHistory is Load for what is in a file: see history.Parse.
func ParseHistory(file []byte, whole bool) (*History, error) { return history.Parse(file, whole) }
