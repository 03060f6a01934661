package cluster

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Cosines returns the cosine of the angle between every point and the mean of every group, [n][k]. It is 0 for a point
// or a mean that is zero, and for an empty group.
func Cosines(gram *mat.SymDense, labels []int, k int) [][]float64 {
	inner, norm := Centroids(gram, labels, k)
	for i := range inner {
		for c := range inner[i] {
			if lengths := math.Sqrt(gram.At(i, i) * norm[c]); lengths > 0 {
				inner[i][c] /= lengths
			}
		}
	}
	return inner
}

// SoftTop is the softmax of v/temperature over its m largest values, 0 for the others: soft weights of one point.
func SoftTop(v []float64, m int, temperature float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	w, sum := make([]float64, len(v)), 0.0
	for _, c := range order[:m] {
		w[c] = math.Exp((v[c] - v[order[0]]) / temperature)
		sum += w[c]
	}
	for c := range w {
		w[c] /= sum
	}
	return w
}
