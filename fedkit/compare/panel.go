package compare

import "fedkit.example/fedkit/history"

// Panel is some of the runs of a study, those with one label: "α = 0.1".
type Panel struct {
	Name string             // of the column, or above the figure
	Runs []*history.History // that are in it
}
