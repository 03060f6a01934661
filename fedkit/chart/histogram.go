package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Histogram returns the figure of how values are spread, the accuracy of each client, say; Show draws it. The label of
// its y axis says what is counted. The X of a series are the values of one group, nothing else of it is used; groups
// stand side by side in the same bins. A bin holds its lower end, and the last one both ends. Zero is always an end, so
// that losers and winners do not share a bin. Values that are not finite are left out.
//
// The x axis is one of percentages if its label speaks of accuracy or a share, and all values lie in [−1, 1].
//
// Errors: no group, one without a finite value.
func Histogram(title, xLabel, yLabel string, groups ...Series) *Figure {
	return Make("chart: histogram", func(f *Figure) error {
		if len(groups) == 0 {
			return errors.New("no group given")
		}
		values, most := make([][]float64, len(groups)), 0
		for g, s := range groups {
			values[g] = slices.DeleteFunc(slices.Clone(s.X), func(v float64) bool { return !(Axis{}).holds(v) })
			if len(values[g]) == 0 {
				return fmt.Errorf("%q has no finite value among its %d", s.Name, len(s.X))
			}
			most = max(most, len(values[g]))
		}
		all := slices.Concat(values...)
		f.Title, f.Point = title, xLabel
		f.X = Axis{Title: xLabel, Percent: shares(xLabel, all, -1)}
		f.Y = Axis{Title: yLabel, Whole: true}
		edges := bins(slices.Min(all), slices.Max(all), most)
		f.X.Covers = []float64{edges[0], edges[len(edges)-1]}
		for g, s := range groups {
			b := bars(newScale(f.X), edges, counts(values[g], edges), g, len(groups))
			b.Name = s.Name
			f.Series = append(f.Series, b)
		}
		return nil
	})
}

// counts returns how many values each bin holds.
func counts(values, edges []float64) []int {
	n := make([]int, len(edges)-1)
	for _, v := range values {
		at, exact := slices.BinarySearch(edges, v)
		if !exact {
			at--
		}
		n[max(0, min(at, len(n)-1))]++
	}
	return n
}

// bars draws the counts of group g, which has its share of the width of every bin.
func bars(x scale, edges []float64, counts []int, g, groups int) Series {
	s := Series{Mark: Cells}
	for b, n := range counts {
		if n == 0 {
			continue
		}
		wide := edges[b+1] - edges[b]
		at := edges[b] + wide*(0.06+0.88*float64(g)/float64(groups))
		s.Cell(at, at+0.88*wide/float64(groups), 0, float64(n),
			fmt.Sprintf("%s to %s: %d", x.value(edges[b]), x.value(edges[b+1]), n))
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
