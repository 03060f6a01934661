package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// Accuracy draws test accuracy against rounds, one line a history: of the global model if every history has one, else
// the mean over clients of the model each would use, weighted by its test examples. The axis says which. Histories of
// the same Name are runs of one experiment with other seeds: they become one line, their mean, in a band of ± one
// sample standard deviation (divisor n−1), over the rounds that all of them have. Rounds that were not evaluated are
// skipped, and so are values that are not finite.
//
// Errors: no history, a nil one, one without an evaluated round.
func Accuracy(h ...*fedkit.History) error { return show(AccuracyFigure(h...)) }

// AccuracyFigure returns the figure that Accuracy shows.
func AccuracyFigure(h ...*fedkit.History) (*Figure, error) { return overRounds(accuracy, h) }

// Loss draws the test loss (mean over examples, natural logarithm) against rounds; all else is as in Accuracy. The axis
// is logarithmic where the losses span more than three powers of ten.
func Loss(h ...*fedkit.History) error { return show(LossFigure(h...)) }

// LossFigure returns the figure that Loss shows.
func LossFigure(h ...*fedkit.History) (*Figure, error) { return overRounds(loss, h) }

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

func overRounds(m measure, h []*fedkit.History) (f *Figure, err error) {
	defer guard(&err)
	all, err := tracks(h)
	if err != nil {
		return nil, fmt.Errorf("plot: %s: %w", m.name, err)
	}
	b, err := commonBasis(all)
	if err != nil {
		return nil, fmt.Errorf("plot: %s: %w", m.name, err)
	}
	if f, err = m.figure(all, b); err != nil {
		return nil, fmt.Errorf("plot: %s: %w", m.name, err)
	}
	return f, nil
}

// figure draws the measure against rounds. A name that has nothing to draw is reported, and left out of the figure.
func (m measure) figure(all []*track, b basis) (f *Figure, err error) {
	f = &Figure{
		Name:  m.name,
		Title: "Test " + m.name,
		X:     Axis{Title: "round", Whole: true},
		Y:     Axis{Title: m.name + " " + b.of, Percent: m.share},
	}
	var runs []int
	lo, hi := 0.0, 0.0
	for _, c := range curves(all, b, m.value) {
		if len(c.round) == 0 {
			err = fmt.Errorf("%q has no round with a finite %s in all of its runs (%d)", c.name, m.name, c.runs)
			continue
		}
		s := Series{Name: c.name, X: c.round, Y: c.mean}
		if c.runs > 1 {
			runs = append(runs, c.runs)
			for i, y := range c.mean {
				s.Lo, s.Hi = append(s.Lo, y-c.spread[i]), append(s.Hi, y+c.spread[i])
			}
		}
		f.Series = append(f.Series, s)
		if least := slices.Min(c.mean); lo == 0 || least < lo {
			lo = least
		}
		hi = max(hi, slices.Max(c.mean))
	}
	f.Y.Log = !m.share && lo > 0 && hi > 1000*lo
	if runs != nil {
		f.Note = fmt.Sprintf("line: mean of %s runs; band: ± 1 standard deviation", span(runs))
	}
	return f, err
}

// span writes the range of some counts: "3", "3 to 5".
func span(n []int) string {
	if lo, hi := slices.Min(n), slices.Max(n); lo != hi {
		return fmt.Sprintf("%d to %d", lo, hi)
	}
	return fmt.Sprint(n[0])
}

func show(f *Figure, err error) error {
	if err != nil {
		return err
	}
	return f.Show()
}
