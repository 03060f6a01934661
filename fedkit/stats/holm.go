package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm corrects the p values of m tests so that all may be compared with one level (Holm 1979). In ascending order,
//
//	p̃_(i) = max_{j≤i} min(1, (m−j+1)·p_(j)).
//
// A p value that is NaN stands for no test: it does not count, and stays NaN.
func Holm(p []float64) []float64 {
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	corrected, most := slices.Clone(p), 0.0
	for j, i := range order {
		most = max(most, min(1, float64(len(order)-j)*p[i]))
		corrected[i] = most
	}
	return corrected
}
