package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Curves returns the figure of any quantity against any other, accuracy against a step size, say; Show draws it. Each
// series is a line through its points in the order of their X, with a band if Lo and Hi are set. Points that are not
// finite are left out.
//
// The axes follow from the data. X is logarithmic if its values lie more evenly that way (0.01, 0.1, 1, but not 1, 2,
// 3), Y if it spans more than three powers of ten. An axis whose label speaks of accuracy or a share, and whose values
// all lie in [0, 1], is one of percentages. Set the figure's X and Y to choose otherwise.
//
// Errors: no series, slices of different lengths, no point that can be drawn.
func Curves(title, xLabel, yLabel string, series ...Series) *Figure {
	return Make("chart: curves", func(f *Figure) error {
		f.Title = title
		var xs, ys []float64
		for i, s := range series {
			if len(s.Y) != len(s.X) || s.Lo != nil && len(s.Lo) != len(s.X) || s.Hi != nil && len(s.Hi) != len(s.X) {
				return fmt.Errorf("series %d, %q: %d X, %d Y, %d Lo and %d Hi do not go together",
					i+1, s.Name, len(s.X), len(s.Y), len(s.Lo), len(s.Hi))
			}
			f.Series = append(f.Series, s.byX())
			for j, x := range s.X {
				if finite(x) && finite(s.Y[j]) {
					xs, ys = append(xs, x), append(ys, s.Y[j])
				}
			}
		}
		if len(xs) == 0 {
			return errEmpty
		}
		f.X = Axis{Title: xLabel, Log: evenerInLogs(xs), Percent: shares(xLabel, xs, 0)}
		f.Y = Axis{Title: yLabel, Percent: shares(yLabel, ys, 0)}
		f.Y.Log = !f.Y.Percent && slices.Min(ys) > 0 && slices.Max(ys) > 1000*slices.Min(ys)
		return nil
	})
}

// byX returns the series with its points in the order of X.
func (s Series) byX() Series {
	order := indices(len(s.X))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(s.X[i], s.X[j]) })
	return s.at(order)
}

// evenerInLogs reports whether the values are all positive, span a factor of ten or more, and have a smaller largest gap,
// in relation to their range, once their logarithms are taken.
func evenerInLogs(values []float64) bool {
	v := slices.Compact(slices.Sorted(slices.Values(values)))
	lo, hi := v[0], v[len(v)-1]
	if lo <= 0 || hi < 10*lo || len(v) < 3 {
		return false
	}
	plain, logs := 0.0, 0.0
	for i := 1; i < len(v); i++ {
		plain = max(plain, (v[i]-v[i-1])/(hi-lo))
		logs = max(logs, math.Log(v[i]/v[i-1])/math.Log(hi/lo))
	}
	return logs < plain
}

// shares reports whether the label speaks of accuracy or a share, and all values lie in [least, 1].
func shares(label string, values []float64, least float64) bool {
	label = strings.ToLower(label)
	return (strings.Contains(label, "accuracy") || strings.Contains(label, "share")) && slices.Min(values) >= least && slices.Max(values) <= 1
}
