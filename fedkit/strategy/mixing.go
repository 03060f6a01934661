package strategy

import (
	"fedkit.example/fedkit"
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

// toMeans divides every row of weights by its sum; a row of zeros stays as it is.
func toMeans(mix [][]float64) [][]float64 {
	for _, row := range mix {
		if sum := floats.Sum(row); sum > 0 {
			floats.Scale(1/sum, row)
		}
	}
	return mix
}

// meanByCluster returns the models [k, d] after averaging the clients' rows u [n, d] within their clusters, with the
// given weights (nil: equal ones). A cluster without a client keeps its model.
func meanByCluster(models, u *fedkit.Matrix, cluster []int, weights []float64) *fedkit.Matrix {
	k, n := models.Rows(), len(cluster)
	mix := make([][]float64, k) // [k, n+k]: of the updates, and of the models that stay
	for j := range mix {
		mix[j] = make([]float64, n+k)
	}
	for i, j := range cluster {
		mix[j][i] = 1
		if weights != nil {
			mix[j][i] = weights[i]
		}
	}
	for j := range mix {
		if floats.Sum(mix[j]) == 0 {
			mix[j][n+j] = 1
		}
	}
	return fedkit.StackRows(u, models).Mix(toMeans(mix))
}
