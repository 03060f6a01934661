package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// RoundTimes returns the figure of how long each round took on the simulated clock, Record.Clock less that of the round before;
// Show draws it. There is one line per configuration, as in Accuracy. The axis is logarithmic if the times span more than three
// powers of ten. Bands end at 0.
//
// Errors: no history, a nil one, one without a clock.
func RoundTimes(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: round times", func(f *chart.Figure) error {
		f.Name, f.Title = "round-times", "Simulated time of each round"
		err := overRuns(f, "round time", h, roundTimes, clocked)
		var all []float64
		for _, s := range f.Series {
			all = slices.Concat(all, s.Y, s.Hi)
		}
		if len(all) == 0 {
			return err
		}
		unit, by := timeUnit(slices.Max(all))
		for _, s := range f.Series {
			for _, v := range [][]float64{s.Y, s.Lo, s.Hi} {
				for i := range v {
					v[i] /= by
				}
			}
		}
		f.Y.Title, f.Y.Bounds = "time ("+unit+")", notNegative
		if !f.Y.Log {
			f.Y.Covers = []float64{0}
		}
		return err
	})
}

// roundTimes returns how long each round of a run took, in s of the clock.
func roundTimes(r *compare.Run) (values []value) {
	before := 0.0
	for i := range r.History.Rounds {
		rec := &r.History.Rounds[i]
		values = append(values, value{rec.Round, float64(rec.Clock) - before})
		before = float64(rec.Clock)
	}
	return values
}

// clocked reports a run without a simulated clock.
func clocked(r *compare.Run) error {
	if r.Clocked() {
		return nil
	}
	return fmt.Errorf("history %q has no simulated clock: its clients have no devices (see Federation.On)", r.Name)
}
