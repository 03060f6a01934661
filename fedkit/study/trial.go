package study

import "fedkit.example/fedkit"

// Plan is a study before it runs: its runs, in order.
type Plan []*Trial

// Trial is one run of a plan.
type Trial struct {
	World                    // its federation
	Strategy fedkit.Strategy // the algorithm, with its options
	Options  fedkit.Options  // of the run; Name is the run's
	Labels   []any           // pairs of a key and a value, as Study.Add takes them; those under "part" are selected by --part
}
