package plot

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Idle returns the figure of the share of their time that clients wait, round by round; Show draws it. Of a round that ended at
// c, with results of clients that began at b and were back at a, it is
//
//	Σ (c − a) / Σ (c − b)
//
// with Σ over the clients; those that were late or dropped out were busy until then, and those that sat out were idle: see
// compare.Idle. There is one line per configuration, as in Accuracy. Bands end at 0 and 1.
//
// Errors: no history, a nil one, one without a clock, or without the Solves of any round.
func Idle(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: idle", func(f *chart.Figure) error {
		f.Name, f.Title = "idle", "Share of their time that clients wait"
		f.Y = share
		f.Y.Title, f.Y.Covers = "idle share", []float64{0}
		return overRecords(f, "idle share", h, compare.IdleShare, clocked)
	})
}
