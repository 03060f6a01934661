package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// Accuracy returns the figure of test accuracy against rounds; Show draws it. There is one line per history: of the
// global model if every history has one, else the mean over clients of the model each would use, weighted by its test
// examples. The axis says which. Histories of the same Name are runs of one experiment with other seeds: they become one
// line, their mean, in a band of ± one sample standard deviation (divisor n−1), over the rounds that all of them have.
// Rounds that were not evaluated are skipped, and so are values that are not finite.
//
// Errors: no history, a nil one, one without an evaluated round.
func Accuracy(h ...*fedkit.History) *chart.Figure { return overRounds(accuracy, h) }

// Loss returns the figure of test loss (mean over examples, natural logarithm) against rounds; Show draws it. All else
// is as in Accuracy. The axis is logarithmic if the losses span more than three powers of ten.
func Loss(h ...*fedkit.History) *chart.Figure { return overRounds(loss, h) }

// measure is one of the two values of a point.
type measure struct {
	name  string
	share bool
	value func(point) float64
}

var (
	accuracy = measure{"accuracy", true, func(p point) float64 { return p.accuracy }}
	loss     = measure{"loss", false, func(p point) float64 { return p.loss }}
)

func overRounds(m measure, h []*fedkit.History) *chart.Figure {
	return chart.Make("plot: "+m.name, func(f *chart.Figure) error {
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		return m.draw(f, curves(all, b, m.value), b)
	})
}

// draw draws the measure against rounds. A name that has nothing to draw is reported, and left out of the figure.
func (m measure) draw(f *chart.Figure, cs []curve, b basis) (err error) {
	f.Name, f.Title = m.name, "Test "+m.name
	f.X = chart.Axis{Title: "round", Whole: true}
	f.Y = chart.Axis{Title: m.name + " " + b.of, Percent: m.share}
	var runs []int
	var values []float64
	for _, c := range cs {
		if len(c.round) == 0 {
			err = fmt.Errorf("%q has no round with a finite %s in all of its runs (%d)", c.name, m.name, c.runs)
			continue
		}
		s := chart.Series{Name: c.name, X: c.round, Y: c.mean}
		if c.runs > 1 {
			runs = append(runs, c.runs)
			for i, y := range c.mean {
				s.Lo, s.Hi = append(s.Lo, y-c.spread[i]), append(s.Hi, y+c.spread[i])
			}
		}
		f.Series, values = append(f.Series, s), append(values, c.mean...)
	}
	if f.Series != nil && !m.share {
		f.Y.Log = slices.Min(values) > 0 && slices.Max(values) > 1000*slices.Min(values)
	}
	if runs != nil {
		n := fmt.Sprint(slices.Min(runs))
		if most := slices.Max(runs); most > slices.Min(runs) {
			n += fmt.Sprint(" to ", most)
		}
		note(f, "line: mean of %s runs; band: ± 1 standard deviation", n)
	}
	return err
}
