package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval returns the mean of n values and half the width of its 95 % confidence interval,
//
//	t_{0.975, n−1} · s/√n,
//
// with Student's t and the sample standard deviation s. Half is NaN for one value, and both are for none.
func Interval(v []float64) (mean, half float64) {
	mean, std := stat.MeanStdDev(v, nil)
	if len(v) < 2 {
		return mean, math.NaN()
	}
	n := float64(len(v))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * std / math.Sqrt(n)
}
