package stats

import (
	"math"
	"sync"

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
	if len(v) < 2 || !(alpha > 0 && alpha <= 1) {
		return mean, math.NaN()
	}
	return mean, student(len(v)-1, alpha) * std / math.Sqrt(float64(len(v)))
}

type quantile struct {
	freedom int
	alpha   float64
}

// quantiles are those of student, which takes longer than all else of an interval.
var quantiles sync.Map

// student returns the 1−α/2 quantile of Student's t.
func student(freedom int, alpha float64) float64 {
	if q, known := quantiles.Load(quantile{freedom, alpha}); known {
		return q.(float64)
	}
	q := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}.Quantile(1 - alpha/2)
	quantiles.Store(quantile{freedom, alpha}, q)
	return q
}
