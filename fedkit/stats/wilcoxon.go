package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilcoxon returns the two-sided p value of the signed-rank test of n differences (Wilcoxon 1945), and whether it is
// exact. Differences of 0 are left out, and equal ones share their mean rank.
//
// The p value is exact if n ≤ 50 and there are neither zeros nor ties, or if n ≤ 13. Otherwise it is that of the normal
// distribution, with the variance corrected for ties and no continuity correction, as in scipy.stats.wilcoxon by default. It is
// NaN if nothing differs.
func Wilcoxon(differences []float64) (p float64, exact bool) {
	var size []float64
	var positive []bool
	for _, d := range differences {
		if d != 0 {
			size, positive = append(size, math.Abs(d)), append(positive, d > 0)
		}
	}
	if len(size) == 0 {
		return math.NaN(), true
	}
	rank, ties := Ranks(size)
	w := 0.0 // sum of the ranks of positive differences
	for i, r := range rank {
		if positive[i] {
			w += r
		}
	}
	n, zeros := len(differences), len(differences) > len(size)
	if n <= 13 || n <= 50 && ties == 0 && !zeros {
		return signedRank(rank, w), true
	}
	m := float64(len(size))
	sd := math.Sqrt((m*(m+1)*(2*m+1) - ties/2) / 24)
	z := (w - m*(m+1)/4) / sd
	return 2 * distuv.UnitNormal.CDF(-math.Abs(z)), false
}

// signs returns how many of all 2ⁿ assignments of signs to ranks, which are multiples of ½, have positive ones whose sum is i/2.
func signs(rank []float64) []float64 {
	ways := []float64{1}
	for _, r := range rank {
		step := int(2 * r)
		next := make([]float64, len(ways)+step)
		for i, n := range ways {
			next[i] += n
			next[i+step] += n
		}
		ways = next
	}
	return ways
}

// signedRank is the two-sided p value of w among all assignments of signs to the ranks.
func signedRank(rank []float64, w float64) float64 {
	ways := signs(rank)
	low, high, at := 0.0, 0.0, int(2*w)
	for i, n := range ways {
		if i <= at {
			low += n
		}
		if i >= at {
			high += n
		}
	}
	return min(1, 2*min(low, high)/math.Pow(2, float64(len(rank))))
}
