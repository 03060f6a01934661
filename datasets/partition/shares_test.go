package partition

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A share p_i of Dir(α·1) over M clients is Beta(α, (M−1)α): E p = 1/M, Var p = (1/M)(1 − 1/M)/(αM + 1). At the fixed
// seed a sample of 20,000 must agree with it in mean and variance, each within 4 standard errors (0.006 % to fail by
// chance), and in distribution by the Kolmogorov–Smirnov test at the 0.1 % level (√n·D < 1.95).
func TestSharesAreDirichlet(t *testing.T) {
	const n = 20000
	for _, M := range []int{2, 5, 50} {
		for _, alpha := range []float64{0.05, 0.5, 1, 10} {
			src := stream(11, "test")
			p := make([]float64, n)
			for k := range p {
				shares := logShares(M, alpha, src)
				sum := 0.0
				for _, lp := range shares {
					sum += math.Exp(lp)
				}
				expect.Must(t, math.Abs(sum-1) <= 1e-12, "M = %d, α = %v: shares sum to %v", M, alpha, sum)
				p[k] = math.Exp(shares[k%M])
			}
			m := float64(M)
			wantMean, wantVar := 1/m, 1/m*(1-1/m)/(alpha*m+1)
			mean, variance := stat.MeanVariance(p, nil)
			if se := math.Sqrt(wantVar / n); math.Abs(mean-wantMean) > 4*se {
				t.Errorf("M = %d, α = %v: mean %v, want %v ± %v", M, alpha, mean, wantMean, 4*se)
			}
			beta := distuv.Beta{Alpha: alpha, Beta: (m - 1) * alpha}
			// Var s² = σ⁴(κ + 2)/n with the excess kurtosis κ, for large n.
			if se := wantVar * math.Sqrt((kurtosis(beta)+2)/n); math.Abs(variance-wantVar) > 4*se {
				t.Errorf("M = %d, α = %v: variance %v, want %v ± %v", M, alpha, variance, wantVar, 4*se)
			}
			slices.Sort(p)
			distance := 0.0
			for k, x := range p {
				if 1-x < 1e-9 {
					break // closer to 1 a float64 has too few values for a continuous distribution
				}
				F := beta.CDF(x)
				distance = max(distance, F-float64(k)/n, float64(k+1)/n-F)
			}
			expect.That(t, math.Sqrt(n)*distance <= 1.95, "M = %d, α = %v: √n·D = %.2f, want < 1.95", M, alpha, math.Sqrt(n)*distance)
		}
	}
}

// kurtosis returns the excess kurtosis of a Beta distribution.
func kurtosis(d distuv.Beta) float64 {
	a, b := d.Alpha, d.Beta
	return 6 * ((a-b)*(a-b)*(a+b+1) - a*b*(a+b+2)) / (a * b * (a + b + 2) * (a + b + 3))
}

// With enough rows, a client holds its share of each class, plus or minus one row.
func TestDealtRowsFollowTheShares(t *testing.T) {
	const M, C = 6, 3
	d := labeled(30000, 600, C, 12)
	deal := must.M1(Dirichlet{Clients: M, Alpha: 2, MinTrain: 1, Seed: 13}.Partition(d))
	var class [C]float64
	for _, l := range d.Train.Labels {
		class[l]++
	}
	counts := Labels(d, deal.Clients)
	src := stream(13, "shares")
	for c := range C {
		for i, lp := range logShares(M, 2, src) {
			if want := math.Exp(lp) * class[c]; math.Abs(float64(counts[i][c])-want) > 1 {
				t.Errorf("client %d holds %d rows of class %d, want %.1f", i, counts[i][c], c, want)
			}
		}
	}
}
