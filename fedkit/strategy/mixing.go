package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// take returns the values at the given positions.
func take[T any](values []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = values[j]
	}
	return out
}

// meanByCluster returns the models [k, d] after averaging the clients' rows u [n, d] within their clusters, with the
// given weights (nil: equal ones). A cluster without a client keeps its model.
func meanByCluster(models, u *fedkit.Matrix, of cluster.Groups, weights []float64) *fedkit.Matrix {
	k := models.Rows()
	mean, stays := of.Means(k, weights), make([][]float64, k) // [k, n] and [k, k]
	for j, row := range mean {
		if stays[j] = make([]float64, k); floats.Sum(row) == 0 {
			stays[j][j] = 1
		}
	}
	return u.Mix(mean).Add(models.Mix(stays))
}
