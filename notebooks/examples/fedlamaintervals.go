package examples

import (
	"math"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// intervals returns the layers that are averaged at the end of a round only (arXiv 2110.10302, Algorithm 2): the first l* of the
// layers sorted by ascending discrepancy d, so that their share δ of Σ d dim meets the share 1 − λ of the parameters in the others:
//
//	d_l = Σ_{i∈S} p_i ‖u_l − w_{i,l}‖² / (τ_l dim_l),  l* = argmin_l |δ_l − (1 − λ_l)|.
//
// gaps are ‖u_l − w_{i,l}‖, [n][L], and p is n_i; the sum of n_i cancels.
func (s *FedLAMA) intervals(layers []fedkit.Layer, gaps [][]float64, p []float64) (slow []string) {
	d, order, all, size := make([]float64, len(layers)), make([]int, len(layers)), 0.0, 0.0
	for l, layer := range layers {
		for i := range p {
			d[l] += p[i] * gaps[i][l] * gaps[i][l] / float64(layer.Size)
		}
		if slices.Contains(s.State.Slow, layer.Name) {
			d[l] /= float64(s.Phi)
		}
		all, size = all+d[l]*float64(layer.Size), size+float64(layer.Size)
	}
	floats.ArgsortStable(d, order)
	first, least, delta, lambda := []string(nil), math.Inf(1), 0.0, 0.0
	for k, l := range order {
		first = append(first, layers[l].Name)
		delta, lambda = delta+d[k]*float64(layers[l].Size)/all, lambda+float64(layers[l].Size)/size
		if gap := math.Abs(delta - 1 + lambda); gap < least { // never, if all models are the same
			slow, least = first, gap
		}
	}
	return slow
}
