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

// toMeans divides every row of weights by its sum; a row of zeros stays as it is.
func toMeans(mix [][]float64) [][]float64 {
	for _, row := range mix {
		if sum := floats.Sum(row); sum > 0 {
			floats.Scale(1/sum, row)
		}
	}
	return mix
}

// members returns the weight of each row in each of k clusters, [k, n]: its own (nil: 1) in the cluster that it is in, and 0 in
// the others. A row in none of the k has 0 in all.
func members(cluster []int, k int, weights []float64) [][]float64 {
	in := make([][]float64, k)
	for j := range in {
		in[j] = make([]float64, len(cluster))
	}
	for i, j := range cluster {
		switch {
		case j < 0 || j >= k:
		case weights == nil:
			in[j][i] = 1
		default:
			in[j][i] = weights[i]
		}
	}
	return in
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
