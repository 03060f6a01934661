package plot

import (
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
			return errNil
		}
		pairs := 0
		for i := range h.Rounds {
			pairs = max(pairs, len(distances(&h.Rounds[i])))
		}
		if pairs == 0 {
			return fmt.Errorf("history %q has no distances of clusters (Clustering.Distances): %q has no model for each cluster, only one, or too many",
				h.Name, h.Strategy)
		}
		f.Name, f.Title = "cluster-distances", "Distances of the clusters' models: "+h.Name
		f.Y = chart.Axis{Title: "Euclidean distance"}
		if pairs > maxPairs {
			note(f, "%d pairs of clusters", pairs)
		}
		return drawCurves(f, distanceCurves(h, pairs > maxPairs), "distance")
	})
}

// distanceCurves returns a curve for each pair of clusters or, if these are many, those of the farthest pair, the mean and the nearest.
func distanceCurves(h *fedkit.History, many bool) (cs []curve) {
	add := func(name string, round int, v float64) {
		i := slices.IndexFunc(cs, func(c curve) bool { return c.name == name })
		if i < 0 {
			i, cs = len(cs), append(cs, curve{name: name, runs: 1})
		}
		if !finite(v) {
			cs[i].bad++
			return
		}
		cs[i].add(float64(round), v)
	}
	for i := range h.Rounds {
		d, round := distances(&h.Rounds[i]), h.Rounds[i].Round
		if many && len(d) > 0 {
			add("farthest pair", round, slices.Max(d))
			add("mean of all pairs", round, stat.Mean(d, nil))
			add("nearest pair", round, slices.Min(d))
			continue
		}
		k := 2 // models have k(k−1)/2 distances
		for k*(k-1)/2 < len(d) {
			k++
		}
		for a := range k {
			for b := a + 1; b < k && len(d) > 0; b++ {
				add(fmt.Sprintf("%d and %d", a, b), round, d[0])
				d = d[1:]
			}
		}
	}
	return cs
}

// distances returns those of a round's clusters.
func distances(r *fedkit.Record) []float64 {
	if r.Clustering == nil {
		return nil
	}
	return each(r.Clustering.Distances, func(d fedkit.Float) float64 { return float64(d) })
}
