package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Histogram returns the figure of the distribution of values, the accuracy of each client, say; Show draws it. The label of its y
// axis says what is counted. Of a series only X is used: the values of one group. Groups stand side by side in the same bins. A
// bin holds its lower end, and the last one both ends. Values of exactly 0, such as ties, have a narrow bin of their own, so that
// winners, losers and ties do not share one. Values that are not finite are left out; the note counts them.
//
// The x axis is one of percentages if its label speaks of accuracy or a share, and all values lie in [−1, 1].
//
// Errors: no group, one without a finite value.
func Histogram(title, xLabel, yLabel string, groups ...Series) *Figure {
	return Make("chart: histogram", func(f *Figure) error {
		if len(groups) == 0 {
			return errors.New("no group given")
		}
		values, most, lost := make([][]float64, len(groups)), 0, 0
		for g, s := range groups {
			values[g] = slices.DeleteFunc(slices.Clone(s.X), func(v float64) bool { return !(Axis{}).holds(v) })
			if len(values[g]) == 0 {
				return fmt.Errorf("%q has no finite value among its %d", s.Name, len(s.X))
			}
			most, lost = max(most, len(values[g])), lost+len(s.X)-len(values[g])
		}
		all := slices.Concat(values...)
		f.Title, f.Point = title, xLabel
		f.X = Axis{Title: xLabel, Percent: shares(xLabel, all, -1)}
		f.Y = Axis{Title: yLabel, Whole: true}
		edges := bins(slices.Min(all), slices.Max(all), most)
		if step := edges[1] - edges[0]; f.X.Percent && edges[len(edges)-1] > 1 { // all are 100 %
			edges = []float64{1 - step, 1}
		}
		f.X.Include = []float64{edges[0], edges[len(edges)-1]}
		bs := split(edges, slices.Contains(all, 0))
		if len(bs) > len(edges)-1 {
			f.Note = "narrow bars at 0: values of exactly 0"
		}
		if lost > 0 {
			f.Note = strings.TrimPrefix(fmt.Sprintf("%s; left out: %d of %d values, not finite", f.Note, lost, lost+len(all)), "; ")
		}
		for g, s := range groups {
			b := bars(newScale(f.X), bs, values[g], g, len(groups))
			b.Name = s.Name
			of, n, x := slices.Sorted(slices.Values(values[g])), len(values[g]), scale{Axis: f.X}
			f.Alt = strings.TrimPrefix(fmt.Sprintf("%s; %s %d from %s to %s, median %s", f.Alt, s.Name, n, x.value(of[0]), x.value(of[n-1]),
				x.value((of[(n-1)/2]+of[n/2])/2)), "; ")
			f.Series = append(f.Series, b)
		}
		return nil
	})
}

// bin is the values in [from, to), or in [from, to] for the last one and for that of 0 alone, and where it is drawn.
type bin struct{ from, to, left, right float64 }

// split returns the bins between these edges, with one for 0 alone if there are zeros. It takes its place from those beside it.
func split(edges []float64, zeros bool) (all []bin) {
	for i, to := range edges[1:] {
		all = append(all, bin{edges[i], to, edges[i], to})
	}
	at := slices.Index(edges, 0)
	if at < 0 || !zeros {
		return all
	}
	zero, half := bin{}, 0.15*(edges[1]-edges[0])
	if at > 0 {
		zero.left, all[at-1].right = -half, -half
	}
	if at < len(all) {
		zero.right, all[at].left = half, half
	}
	return slices.Insert(all, at, zero)
}

// bars draws how many values each bin has in group g, which has its share of the width of every bin.
func bars(x scale, all []bin, values []float64, g, groups int) Series {
	counts := make([]int, len(all))
	for _, v := range values {
		at := slices.IndexFunc(all[:len(all)-1], func(b bin) bool { return v < b.to || v == b.from && b.from == b.to })
		if at < 0 {
			at = len(all) - 1
		}
		counts[at]++
	}
	s := Series{Mark: Cells}
	for i, b := range all {
		n := counts[i]
		if n == 0 {
			continue
		}
		wide, words := b.right-b.left, x.value(b.from)
		if b.from < b.to {
			words += " to " + x.value(b.to)
		}
		at := b.left + wide*(0.06+0.88*float64(g)/float64(groups))
		s.Cell(at, at+0.88*wide/float64(groups), 0, float64(n), fmt.Sprintf("%s: %d", words, n))
	}
	return s
}

// bins returns the ends of bins of a round width that hold [lo, hi]: at most about 1.5 √n of them, or ten.
func bins(lo, hi float64, n int) []float64 {
	step := niceStep((hi - lo) / max(10, 1.5*math.Sqrt(float64(n))))
	if room := 1e-6 * max(math.Abs(lo), math.Abs(hi)); !(hi-lo > room) {
		step = niceStep(max(0.02*max(math.Abs(lo), math.Abs(hi)), 1e-6))
	}
	from := math.Floor(lo/step + 1e-9)
	return multiples(step, from, max(from+1, math.Ceil(hi/step-1e-9)))
}
