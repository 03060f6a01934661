package stats

import (
	"cmp"
	"slices"
)

// Ranks returns the rank of each value, 1 for the smallest; equal values share their mean rank. Ties is the sum of
// t³ − t over the numbers t of equal values.
func Ranks(v []float64) (rank []float64, ties float64) {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	rank = make([]float64, len(v))
	for from := 0; from < len(v); {
		to := from + 1
		for to < len(v) && v[order[to]] == v[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			rank[i] = float64(from+1+to) / 2
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return rank, ties
}
