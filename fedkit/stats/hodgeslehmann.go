package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// HodgesLehmann returns the estimate that goes with Wilcoxon's test, and its confidence interval of level 1−α at least (Hodges and
// Lehmann 1963): the median of the n(n+1)/2 means of two differences, each with itself too, and the k-th least and greatest of these,
// with the largest k for which P(W < k) ≤ α/2. The interval is infinite if there are too few differences for any such k, and so
// 2·2⁻ⁿ > α. W has its exact distribution if n ≤ 50, else the normal one. All are NaN without a difference.
func HodgesLehmann(alpha float64, differences []float64) (estimate, lo, hi float64) {
	n := len(differences)
	if n == 0 || !(alpha > 0 && alpha <= 1) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	var means []float64
	for i, a := range differences {
		for _, b := range differences[i:] {
			means = append(means, a/2+b/2)
		}
	}
	slices.Sort(means)
	estimate = means[(len(means)-1)/2]/2 + means[len(means)/2]/2
	k := signedRankQuantile(n, alpha/2)
	if k == 0 {
		return estimate, math.Inf(-1), math.Inf(1)
	}
	return estimate, means[k-1], means[len(means)-k]
}

// signedRankQuantile returns the largest k for which P(W < k) ≤ p, where W is the sum of the positive of n ranks.
func signedRankQuantile(n int, p float64) (k int) {
	if n > 50 {
		m := float64(n)
		return int(max(0, m*(m+1)/4+distuv.UnitNormal.Quantile(p)*math.Sqrt(m*(m+1)*(2*m+1)/24)))
	}
	ranks := make([]float64, n)
	for i := range ranks {
		ranks[i] = float64(i + 1)
	}
	ways, sum := signs(ranks), 0.0
	for sum+ways[2*k] <= p*math.Pow(2, float64(n)) {
		sum += ways[2*k]
		k++
	}
	return k
}
