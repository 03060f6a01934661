package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Histogram draws how values are spread over clients: the accuracy of each, say, or what each gains. The X of a series
// are the values of one group, nothing else of it is used; groups stand side by side in the same bins. A bin holds its
// lower end, and the last one both ends; zero is always an end, so that losers and winners do not share one. Values that
// are not finite are left out.
//
// The axis is one of percentages where its label speaks of accuracy or a share, and all values lie in [−1, 1].
//
// Errors: no group, one without a finite value.
func Histogram(title, xLabel string, groups ...Series) error {
	return show(HistogramFigure(title, xLabel, groups...))
}

// HistogramFigure returns the figure that Histogram shows.
func HistogramFigure(title, xLabel string, groups ...Series) (f *Figure, err error) {
	defer guard(&err)
	if len(groups) == 0 {
		return nil, errors.New("plot: histogram: no group given")
	}
	values, most := make([][]float64, len(groups)), 0
	for g, s := range groups {
		if values[g] = slices.DeleteFunc(slices.Clone(s.X), func(v float64) bool { return !(Axis{}).holds(v) }); len(values[g]) == 0 {
			return nil, fmt.Errorf("plot: histogram: %q has no finite value among its %d", s.Name, len(s.X))
		}
		most = max(most, len(values[g]))
	}
	all := slices.Concat(values...)
	f = &Figure{Title: title, X: Axis{Title: xLabel}, Y: Axis{Title: "clients", Whole: true}, Point: xLabel}
	label := strings.ToLower(xLabel)
	f.X.Percent = (strings.Contains(label, "accuracy") || strings.Contains(label, "share")) && slices.Min(all) >= -1 && slices.Max(all) <= 1
	edges := bins(slices.Min(all), slices.Max(all), most)
	x := newScale(f.X)
	for g, s := range groups {
		bars := Series{Name: s.Name, Mark: Cells}
		counts := make([]int, len(edges)-1)
		for _, v := range values[g] {
			at, exact := slices.BinarySearch(edges, v)
			if !exact {
				at--
			}
			counts[max(0, min(at, len(counts)-1))]++
		}
		for b, n := range counts {
			if n == 0 {
				continue
			}
			wide := edges[b+1] - edges[b]
			at := edges[b] + wide*(0.06+0.88*float64(g)/float64(len(groups)))
			bars.X, bars.X2 = append(bars.X, at), append(bars.X2, at+0.88*wide/float64(len(groups)))
			bars.Y, bars.Y2 = append(bars.Y, 0), append(bars.Y2, float64(n))
			bars.Tip = append(bars.Tip, fmt.Sprintf("%s to %s: %d", x.value(edges[b]), x.value(edges[b+1]), n))
		}
		f.Series = append(f.Series, bars)
	}
	return f, nil
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
