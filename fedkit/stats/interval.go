package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval returns the mean of n values and half the width of its 95 % confidence interval: see IntervalAt.
func Interval(v []float64) (mean, half float64) { return IntervalAt(0.05, v) }

// IntervalAt returns the mean of n values and half the width of its confidence interval of level 1−α,
//
//	t_{1−α/2, n−1} · s/√n,
//
// with Student's t and the sample standard deviation s. Half is NaN for one value, and both are for none.
func IntervalAt(alpha float64, v []float64) (mean, half float64) {
	mean, std := stat.MeanStdDev(v, nil)
	if len(v) < 2 {
		return mean, math.NaN()
	}
	n := float64(len(v))
	return mean, distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1-alpha/2) * std / math.Sqrt(n)
}
