package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairedT returns the two-sided p value of the paired t test of n differences: of t = mean/(s/√n) under Student's t with
// n−1 degrees of freedom. It is NaN for n < 2, and if all differences are 0.
func PairedT(differences []float64) (p float64) {
	n := float64(len(differences))
	if n < 2 {
		return math.NaN()
	}
	mean, std := stat.MeanStdDev(differences, nil)
	t := mean / (std / math.Sqrt(n)) // 0/0 is NaN
	if math.IsInf(t, 0) {
		return 0
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: n - 1}.CDF(-math.Abs(t))
}
