package cluster

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Directions returns the first d principal directions as weights of the centered points, [d, n]: direction c, a unit vector, is
// Σ_i weights[c][i] (x_i − mean). Directions in which the points differ by no more than rounding in float32 are 0.
//
// Errors: those of PCA.
func Directions(p *Points, d int) (weights [][]float64, err error) {
	at, err := PCA(p, d) // column c is √λ_c u_c
	if err != nil {
		return nil, err
	}
	most := 0.0
	for c := range d {
		axis := mat.Col(nil, c, at)
		lambda := floats.Dot(axis, axis)
		if most = max(most, lambda); lambda > 1e-6*most {
			floats.Scale(1/lambda, axis)
		} else {
			clear(axis)
		}
		weights = append(weights, axis)
	}
	return weights, nil
}
