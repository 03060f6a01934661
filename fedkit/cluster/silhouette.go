package cluster

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Silhouette returns the silhouette of each point, [n] in [−1, 1] (Rousseeuw 1987): with a the mean distance to the others of its
// group and b the least mean distance to another group,
//
//	s = (b − a)/max(a, b).
//
// It is 0 for a singleton, if there is only one group, and if a = b = 0. A point with a negative or missing label has 0, too, and
// is ignored by all others.
func Silhouette(p *Points, labels []int) []float64 { return silhouette(p.Distances(), labels) }

func silhouette(d *Condensed, labels []int) []float64 {
	n := d.n
	group := append(slices.Clone(labels[:min(n, len(labels))]), Ungrouped(max(0, n-len(labels)))...)
	group = Renumber(group)
	size, sums := make([]float64, groups(group)), zeros(groups(group), n) // sums of the distances of the points to each group
	for i, c := range group {
		after := d.after(i)
		if c >= 0 {
			size[c]++
			floats.Add(sums[c][i+1:], after)
		}
		for o, v := range after {
			if to := group[i+1+o]; to >= 0 {
				sums[to][i] += v
			}
		}
	}
	s := make([]float64, n)
	for i, c := range group {
		if c >= 0 && size[c] > 1 {
			s[i] = width(c, i, sums, size)
		}
	}
	return s
}

// width is the silhouette of a point in group own, whose sums are in this column.
func width(own, column int, sums [][]float64, size []float64) float64 {
	a, b := sums[own][column]/(size[own]-1), math.Inf(1)
	for c := range sums {
		if c != own {
			b = min(b, sums[c][column]/size[c])
		}
	}
	if math.IsInf(b, 1) || max(a, b) == 0 {
		return 0
	}
	return (b - a) / max(a, b)
}
