package cluster

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Directions returns the first d principal directions of points as weighted sums of the points less their mean, [d, n]: direction c,
// of length 1, is Σ_i weights[c][i] (x_i − mean). Those in which the points do not differ by more than rounding in float32 are 0.
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
