package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Friedman returns the p value of the hypothesis that k methods do equally well in N blocks, N × k values (Friedman
// 1937), and their mean ranks: 1 for the smallest value of each block. With R_j the mean ranks,
//
//	χ² = 12N/(k(k+1)) · (Σ_j R_j² − k(k+1)²/4),
//
// divided by 1 − Σ(t³−t)/(N·k(k²−1)) for ties, has k−1 degrees of freedom. It is NaN if all values of each block are equal.
//
// Errors: fewer than 2 blocks or methods, blocks of different length, a value that is not finite.
func Friedman(blocks [][]float64) (p float64, meanRanks []float64, err error) {
	n := float64(len(blocks))
	if n < 2 || len(blocks[0]) < 2 {
		return 0, nil, fmt.Errorf("ranks need at least 2 blocks and 2 methods")
	}
	meanRanks = make([]float64, len(blocks[0]))
	k, ties := float64(len(meanRanks)), 0.0
	for i, b := range blocks {
		if len(b) != len(meanRanks) {
			return 0, nil, fmt.Errorf("block %d has %d values, and the first %d", i+1, len(b), len(meanRanks))
		}
		rank, t := Ranks(b)
		ties += t
		for j, r := range rank {
			if math.IsNaN(b[j]) || math.IsInf(b[j], 0) {
				return 0, nil, fmt.Errorf("block %d has %g", i+1, b[j])
			}
			meanRanks[j] += r / n
		}
	}
	squares := 0.0
	for _, r := range meanRanks {
		squares += r * r
	}
	chi2 := 12 * n / (k * (k + 1)) * (squares - k*(k+1)*(k+1)/4) / (1 - ties/(n*k*(k*k-1)))
	return distuv.ChiSquared{K: k - 1}.Survival(chi2), meanRanks, nil
}

// CriticalDifference is the distance between the mean ranks of two of k methods over N blocks from which they differ at the 5 %
// level, by Nemenyi's test (Demšar 2006, section 3.2.2):
//
//	CD = q·√(k(k+1)/(6N)),
//
// where q is the 95 % quantile of the studentized range of k values with infinite degrees of freedom, divided by √2.
func CriticalDifference(k, blocks int) float64 {
	return studentizedRange(0.95, k) / math.Sqrt2 * math.Sqrt(float64(k)*float64(k+1)/(6*float64(blocks)))
}

// studentizedRange is a quantile of the range of k standard normal values. Their range is at most q with probability
//
//	k·∫ φ(z)·(Φ(z) − Φ(z−q))^(k−1) dz,
//
// z being the largest of them.
func studentizedRange(share float64, k int) float64 {
	normal := distuv.UnitNormal
	within := func(q float64) float64 {
		return float64(k) * quad.Fixed(func(z float64) float64 {
			return normal.Prob(z) * math.Pow(normal.CDF(z)-normal.CDF(z-q), float64(k-1))
		}, -9, 9, 150, quad.Legendre{}, 0)
	}
	lo, hi := 0.0, 30.0
	for hi-lo > 1e-12 {
		if q := (lo + hi) / 2; within(q) < share {
			lo = q
		} else {
			hi = q
		}
	}
	return lo
}
