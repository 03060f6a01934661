package cluster

import (
	"math"

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
	group := make([]int, n)
	for i := range group {
		group[i] = -1
		if i < len(labels) {
			group[i] = labels[i]
		}
	}
	group = Renumber(group)
	size := make([]float64, groups(group))
	for _, c := range group {
		if c >= 0 {
			size[c]++
		}
	}
	s := make([]float64, n)
	const block = 64 // points
	parallel((n+block-1)/block, func(b int) {
		from := b * block
		to := min(n, from+block)
		sums := toGroups(d, from, to, group, len(size))
		for i := from; i < to; i++ {
			if c := group[i]; c >= 0 && size[c] > 1 {
				s[i] = width(c, i-from, sums, size)
			}
		}
	})
	return s
}

// toGroups returns the sums of the distances of the points from, …, to−1 to each group, [k, to−from]. It reads d in memory order.
func toGroups(d *Condensed, from, to int, group []int, k int) [][]float64 {
	sums := make([][]float64, k)
	for c := range sums {
		sums[c] = make([]float64, to-from)
	}
	for i, c := range group[:to] {
		after := d.after(i)
		if first := max(i+1, from); c >= 0 && first < to { // to i's group, from later points
			floats.Add(sums[c][first-from:], after[first-i-1:to-i-1])
		}
		if i < from {
			continue
		}
		for o, v := range after { // from i, to the groups of later points
			if c := group[i+1+o]; c >= 0 {
				sums[c][i-from] += v
			}
		}
	}
	return sums
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
