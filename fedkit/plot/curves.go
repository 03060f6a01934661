package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/stats"
)

// fewRuns is how many runs it takes for a band. Of fewer, an interval says little, and the runs themselves are drawn.
const fewRuns = 5

// curve is the mean over runs along an axis, with half of its 95 % confidence interval or, of a few runs, the runs themselves.
type curve struct {
	name       string
	of         string // whose color it has, if not that of its name
	beside     string // the curve that it goes with, if any
	runs       int
	least      int            // the fewest values at a point
	x          []float64      // rounds
	mean, half []float64      // half is 0 for one value
	single     []chart.Series // the runs, if there are several, with all that they have
	longest    int            // the most rounds that a run has, x or more
	bad        int            // values that are not finite
}

// add adds a point: the mean of some values that are finite, and their interval.
func (c *curve) add(x float64, values ...float64) {
	m, half := values[0], 0.0
	if len(values) > 1 {
		m, half = stats.Interval(values)
	}
	if c.x == nil || len(values) < c.least {
		c.least = len(values)
	}
	c.x, c.mean, c.half = append(c.x, x), append(c.mean, m), append(c.half, half)
}

// banded reports whether the curve has a band, few whether it has its runs instead.
func (c *curve) banded() bool { return c.least >= fewRuns }
func (c *curve) few() bool    { return c.runs > 1 && !c.banded() }

func finite(v float64) bool { return v-v == 0 }

// drawCurves adds curves to a figure over rounds. Those that have nothing to draw are left out; the last of them is reported.
func drawCurves(f *chart.Figure, cs []curve, what string) (err error) {
	f.X = chart.Axis{Title: "round", Whole: true}
	var drawn []curve
	var single []chart.Series
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range cs {
		if len(c.x) == 0 {
			err = fmt.Errorf("%q has no round with a finite %s in all of its runs (%d)", c.name, what, c.runs)
			continue
		}
		drawn = append(drawn, c)
		s := chart.Series{Name: c.name, Of: c.of, Like: c.beside, X: c.x, Y: c.mean}
		least, most = min(least, slices.Min(c.mean)), max(most, slices.Max(c.mean))
		for i, y := range c.mean {
			if c.banded() {
				s.Lo, s.Hi = append(s.Lo, y-c.half[i]), append(s.Hi, y+c.half[i])
			}
		}
		f.Series = append(f.Series, s)
		for _, one := range c.single {
			if c.few() && len(one.Y) > 0 {
				one.Name, one.Thin = c.name, true
				single, least = append(single, one), min(least, slices.Min(one.Y))
			}
		}
	}
	f.Series = append(f.Series, single...)
	if f.Series != nil && !f.Y.Percent {
		f.Y.Log = least > 0 && most > 1000*least
	}
	sayRuns(f, drawn)
	sayMissing(f, drawn)
	return err
}

// sayRuns says what lines are, and what is beside them.
func sayRuns(f *chart.Figure, cs []curve) {
	several := slices.DeleteFunc(slices.Clone(cs), func(c curve) bool { return c.runs < 2 })
	if len(several) == 0 {
		return
	}
	runs := each(several, func(c curve) int { return c.runs })
	note(f, "line: mean of %s runs", span(append(runs, each(several, func(c curve) int { return c.least })...)))
	bands, few := slices.ContainsFunc(several, func(c curve) bool { return c.banded() }), ""
	if bands {
		note(f, "band: 95 %% confidence interval")
		few = fmt.Sprintf(", where fewer than %d", fewRuns)
	}
	if i := slices.IndexFunc(several, func(c curve) bool { return c.few() }); i >= 0 {
		what := "thin lines"
		if several[i].single[0].Mark == chart.Dots {
			what = "small dots"
		}
		note(f, "%s: single runs%s", what, few)
	}
}

// sayMissing says what the lines lack.
func sayMissing(f *chart.Figure, cs []curve) {
	var means, bad []string
	n := 0
	for _, c := range cs {
		if c.longest > len(c.x) {
			means = append(means, fmt.Sprintf("%s %d of %d", c.name, len(c.x), c.longest))
		}
		if c.bad > 0 {
			n, bad = n+c.bad, append(bad, c.name)
		}
	}
	if means != nil {
		note(f, "means over rounds that all runs have: %s", some(means))
	}
	if n > 0 {
		note(f, "left out: %s not finite (%s)", plural(n, "value"), some(bad))
	}
}

// span writes numbers by their range: "3", "3 to 10".
func span(n []int) string {
	if least, most := slices.Min(n), slices.Max(n); least < most {
		return fmt.Sprint(least, " to ", most)
	}
	return fmt.Sprint(n[0])
}

// some lists the first few of some words, each once.
func some(words []string) string {
	const most = 3
	var distinct []string
	for _, w := range words {
		if !slices.Contains(distinct, w) {
			distinct = append(distinct, w)
		}
	}
	listed := strings.Join(distinct[:min(most, len(distinct))], ", ")
	if more := len(distinct) - most; more > 0 {
		listed += fmt.Sprintf(" and %d more", more)
	}
	return listed
}

// plural counts things: "1 run", "2 runs".
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// backward returns the elements from the last to the first, as the names of rows are, which count from below.
func backward[T any](all []T) []T {
	b := slices.Clone(all)
	slices.Reverse(b)
	return b
}

// each returns f of every element.
func each[A, B any](all []A, f func(A) B) []B {
	of := make([]B, len(all))
	for i, a := range all {
		of[i] = f(a)
	}
	return of
}
