package plot

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/stats"
)

// Band is what bands show around the mean of a configuration's runs.
type Band int

const (
	Deviation  Band = iota // ± one sample standard deviation (divisor n−1): how far runs differ
	Confidence             // 95 % confidence interval of the mean (see stats.Interval), as tables have it
)

// Bands is what the bands of all figures show. Set it before figures are made.
var Bands = Deviation

// curve is the mean over runs, and half the width of its band.
type curve struct {
	name         string
	of           string // whose color it has, if not that of its name
	beside       string // the curve that it goes with, if any
	runs         int
	x            []float64 // rounds
	mean, spread []float64 // spread is 0 for one run
}

// add adds a point: the mean of some values that are finite, and their band.
func (c *curve) add(x float64, values ...float64) {
	m, s := Bands.around(values)
	c.x, c.mean, c.spread = append(c.x, x), append(c.mean, m), append(c.spread, s)
}

// around returns the mean of values and half the width of the band, which is 0 for one value.
func (b Band) around(v []float64) (mean, half float64) {
	if len(v) == 1 {
		return v[0], 0
	}
	if b == Confidence {
		return stats.Interval(v)
	}
	return stat.MeanStdDev(v, nil)
}

// String says what the band is, for the notes of figures.
func (b Band) String() string {
	if b == Confidence {
		return "95 % confidence interval"
	}
	return "± 1 standard deviation"
}

func finite(v float64) bool { return v-v == 0 }

// drawCurves adds curves to a figure over rounds. Those that have nothing to draw are left out; the last of them is reported.
func drawCurves(f *chart.Figure, cs []curve, what string) (err error) {
	f.X = chart.Axis{Title: "round", Whole: true}
	var runs []int
	var values []float64
	for _, c := range cs {
		if len(c.x) == 0 {
			err = fmt.Errorf("%q has no round with a finite %s in all of its runs (%d)", c.name, what, c.runs)
			continue
		}
		s := chart.Series{Name: c.name, Of: c.of, Like: c.beside, X: c.x, Y: c.mean}
		if c.runs > 1 {
			runs = append(runs, c.runs)
			for i, y := range c.mean {
				s.Lo, s.Hi = append(s.Lo, y-c.spread[i]), append(s.Hi, y+c.spread[i])
			}
		}
		f.Series, values = append(f.Series, s), append(values, c.mean...)
	}
	if f.Series != nil && !f.Y.Percent {
		f.Y.Log = slices.Min(values) > 0 && slices.Max(values) > 1000*slices.Min(values)
	}
	if runs != nil {
		n := fmt.Sprint(slices.Min(runs))
		if most := slices.Max(runs); most > slices.Min(runs) {
			n += fmt.Sprint(" to ", most)
		}
		note(f, "line: mean of %s runs; band: %s", n, Bands)
	}
	return err
}
