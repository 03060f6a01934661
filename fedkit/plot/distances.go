package plot

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// maxPairs is how many pairs of clusters have a line each.
const maxPairs = 10

// ClusterDistances returns the figure of how far the models of clusters are apart, against rounds; Show draws it. There is
// one line for each pair of clusters, or, if these are more than 10, one for the nearest pair, the mean of all, and the
// farthest pair. The axis is logarithmic if the distances span more than three powers of ten.
//
// Errors: a nil history, one without distances (Clustering.Distances).
func ClusterDistances(h *fedkit.History) *chart.Figure {
	return chart.Make("plot: cluster distances", func(f *chart.Figure) error {
		if h == nil {
			return errors.New("the history is nil: did its run fail?")
		}
		cs := pairs(h)
		if len(cs) == 0 {
			return fmt.Errorf("history %q has no distances of clusters (Clustering.Distances): %q has no model for each cluster, only one, or too many",
				h.Name, h.Strategy)
		}
		f.Name, f.Title = "cluster-distances", "Distances of the clusters' models: "+h.Name
		f.Y = chart.Axis{Title: "Euclidean distance"}
		if len(cs) > maxPairs {
			note(f, "%d pairs of clusters", len(cs))
			cs = extremes(h)
		}
		return drawCurves(f, cs, "distance")
	})
}

// pairs returns a curve for each pair of clusters.
func pairs(h *fedkit.History) (cs []curve) {
	of := map[[2]int]int{}
	for i := range h.Rounds {
		d := distances(&h.Rounds[i])
		k := 2 // models have k(k−1)/2 distances
		for k*(k-1)/2 < len(d) {
			k++
		}
		for a := range k {
			for b := a + 1; b < k && len(d) > 0; b++ {
				at, known := of[[2]int{a, b}]
				if !known {
					at = len(cs)
					of[[2]int{a, b}] = at
					cs = append(cs, curve{name: fmt.Sprintf("%d and %d", a, b)})
				}
				cs[at].addFinite(h.Rounds[i].Round, d[0])
				d = d[1:]
			}
		}
	}
	return cs
}

// extremes returns the curves of the farthest pair, the mean and the nearest pair.
func extremes(h *fedkit.History) []curve {
	far, mean, near := curve{name: "farthest pair"}, curve{name: "mean of all pairs"}, curve{name: "nearest pair"}
	for i := range h.Rounds {
		if d := distances(&h.Rounds[i]); len(d) > 0 {
			round := h.Rounds[i].Round
			far.addFinite(round, slices.Max(d))
			mean.addFinite(round, stat.Mean(d, nil))
			near.addFinite(round, slices.Min(d))
		}
	}
	return []curve{far, mean, near}
}

// distances returns those of a round's clusters.
func distances(r *fedkit.Record) []float64 {
	if r.Clustering == nil {
		return nil
	}
	return each(r.Clustering.Distances, func(d fedkit.Float) float64 { return float64(d) })
}

// addFinite adds a round to the curve of one run.
func (c *curve) addFinite(round int, v float64) {
	if c.runs = 1; !finite(v) {
		c.bad++
		return
	}
	c.add(float64(round), v)
}
