package oracle

import (
	"cmp"
	"math"
	"slices"
)

// TrimmedMean is the mean of every column of u [n][d] without its k smallest and its k largest values.
func TrimmedMean(u [][]float64, k int) []float64 {
	x := make([]float64, len(u[0]))
	for j := range x {
		var column []float64
		for _, row := range u {
			column = append(column, row[j])
		}
		slices.Sort(column)
		for _, v := range column[k : len(column)-k] {
			x[j] += v / float64(len(column)-2*k)
		}
	}
	return x
}

// Krum returns the indices of the m rows of u [n][d] with the smallest sums of squared distances to their n−f−2
// nearest, best first.
func Krum(u [][]float64, f, m int) []int {
	n := len(u)
	score, order := make([]float64, n), make([]int, n)
	for i := range u {
		order[i] = i
		var d []float64
		for j := range u {
			if i != j {
				d = append(d, square(u[i], u[j]))
			}
		}
		slices.Sort(d)
		for _, v := range d[:n-f-2] {
			score[i] += v
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[a], score[b]) })
	return order[:m]
}

// GeometricMedian minimizes Σ p_i ‖z − u_i‖ by gradient descent on z with halved steps, from the mean.
func GeometricMedian(u [][]float64, p []float64) []float64 {
	d := len(u[0])
	z := make([]float64, d)
	sum := 0.0
	for i := range u {
		sum += p[i]
		for j := range z {
			z[j] += p[i] * u[i][j]
		}
	}
	for j := range z {
		z[j] /= sum
	}
	cost := func(z []float64) (c float64) {
		for i := range u {
			c += p[i] * math.Sqrt(square(z, u[i]))
		}
		return c
	}
	rate := 1.0
	for range 20000 {
		g := make([]float64, d)
		for i := range u {
			far := math.Sqrt(square(z, u[i]))
			for j := range g {
				g[j] += p[i] * (z[j] - u[i][j]) / math.Max(far, 1e-12)
			}
		}
		rate *= 4
		for now := cost(z); rate > 1e-15; rate /= 2 {
			next := make([]float64, d)
			for j := range z {
				next[j] = z[j] - rate*g[j]
			}
			if cost(next) < now {
				z = next
				break
			}
		}
		if rate <= 1e-15 {
			break
		}
	}
	return z
}

func square(a, b []float64) (s float64) {
	for j := range a {
		s += (a[j] - b[j]) * (a[j] - b[j])
	}
	return s
}

// NearestMix returns, for every row of u [n][d], the mean of the n−f rows nearest to it, itself included.
func NearestMix(u [][]float64, f int) [][]float64 {
	y := make([][]float64, len(u))
	for i := range u {
		near := slices.Clone(u)
		slices.SortStableFunc(near, func(a, b []float64) int { return cmp.Compare(square(a, u[i]), square(b, u[i])) })
		y[i] = TrimmedMean(near[:len(u)-f], 0)
	}
	return y
}
