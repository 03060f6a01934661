package rows

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/stat"
)

// Values have the moments of their distribution, rows are independent, and a row depends on its key alone.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([]uint64, 20)
	for i := range keys {
		keys[i] = rng.Uint64()
	}
	const d = 10001 // odd
	for name, c := range map[string]struct {
		of                       func([]uint64, int, int) *Matrix
		mean, variance, kurtosis float64
		low, high                float64
	}{"normal": {Normal, 0, 1, 0, -7, 7}, "uniform": {Uniform, 0.5, 1. / 12, -1.2, 0, 1 - 0x1p-24}} {
		rows := rowsOf(t, c.of(keys, d, 0))
		var all []float64
		for _, row := range rows {
			for _, v := range row {
				all = append(all, float64(v))
				expect.Must(t, float64(v) >= c.low && float64(v) <= c.high, "%s: %v", name, v)
			}
		}
		n := float64(len(all))
		mean, variance := stat.MeanVariance(all, nil)
		near := func(what string, got, want, sd float64) {
			expect.That(t, math.Abs(got-want) <= 4*sd, "%s: %s %v, want %v ± %v", name, what, got, want, 4*sd)
		}
		near("mean", mean, c.mean, math.Sqrt(c.variance/n))
		near("variance", variance, c.variance, c.variance*math.Sqrt((c.kurtosis+2)/n))
		near("kurtosis", stat.ExKurtosis(all, nil), c.kurtosis, math.Sqrt(24/n))
		near("correlation of rows", stat.Correlation(all[:d], all[d:2*d], nil), 0, math.Sqrt(1./d))
		near("correlation of neighbors", stat.Correlation(all[:len(all)-1], all[1:], nil), 0, math.Sqrt(1/n))
		near("correlation of halves", stat.Correlation(all[:d/2], all[d/2+1:d], nil), 0, math.Sqrt(2./d))
		few := rowsOf(t, c.of(keys[3:5], d, 20))
		for i := range few {
			for j, v := range few[i] {
				expect.Must(t, v == rows[3+i][j], "%s: row %d has other values among other rows", name, i)
			}
		}
	}
	expect.Error(t, "[0, 3] is no shape")(Normal(nil, 3, 0).Err())
	expect.Error(t, "[20, 0] is no shape")(Uniform(keys, 0, 0).Err())
}
