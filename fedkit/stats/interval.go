package stats

import (
	"math"
	"sync"

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
	return mean, student(len(v)-1) * std / math.Sqrt(float64(len(v)))
}

// quantiles are those of student, which takes longer than all else of an interval, by its degrees of freedom.
var quantiles sync.Map

// student returns the 0.975 quantile of Student's t.
func student(freedom int) float64 {
	if q, known := quantiles.Load(freedom); known {
		return q.(float64)
	}
	q := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}.Quantile(0.975)
	quantiles.Store(freedom, q)
	return q
}
