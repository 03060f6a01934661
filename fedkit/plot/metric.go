package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Metric returns the figure of a run's own metric on test examples (Score.Metrics) against rounds; Show draws it. The mean
// over clients is over those that have a value. All else is as in Accuracy.
//
// Errors: no history, a nil one, one without the metric; the error says which metrics it has.
func Metric(name string, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: metric", func(f *chart.Figure) error {
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		for _, t := range all {
			if has := t.Metrics(); !slices.Contains(has, name) {
				return noSuch(t, "metric", name, has)
			}
		}
		m := measure{name: name, value: func(s *fedkit.Score) float64 {
			if v, ok := s.Metrics[name]; ok {
				return float64(v)
			}
			return math.NaN()
		}}
		return m.overRounds(f, all, b)
	})
}

// noSuch says that a run does not have a name, and which it has.
func noSuch(r *compare.Run, what, name string, has []string) error {
	it := "none"
	if len(has) > 0 {
		it = strings.Join(each(has, func(name string) string { return fmt.Sprintf("%q", name) }), ", ")
	}
	return fmt.Errorf("history %q has no %s %q: it has %s", r.Name, what, name, it)
}
