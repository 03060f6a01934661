package examples_test

import (
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Numbers to 60 digits, by Python's decimal, with math.comb:
//
//	A = sum(comb(a, k) * (1-q)**(a-k) * q**k * (D(k*k-k) / (2*s*s)).exp() for k in range(a+1))
//	epsilon = min(T*A.ln()/(a-1) + (1 - D(1)/a).ln() - (d*a).ln()/(a-1) for a in range(2, 257))
func TestEpsilon(t *testing.T) {
	for _, c := range []struct {
		q, sigma float64
		rounds   int
		delta    float64
		want     float64
	}{
		{0.01, 1, 1000, 1e-5, 2.10775307545156529446},
		{0.1, 1, 100, 1e-5, 7.97292151038053748738},
		{0.1, 1, 500, 1e-5, 18.6450627219386126944},
		{0.01, 0.8, 2000, 1e-6, 5.69373889805094339182},
		{1, 10, 100, 1e-5, 4.75272833681982225560},
		{0.02, 1.1, 300, 1e-4, 1.73833004257218389719},
		{0.5, 0.3, 3, 1e-5, 39.3012158588554100016},
		{0.001, 20, 1, 1e-5, 0.01948935469673289482},
		{0.5, 0, 1, 1e-5, math.Inf(1)},
	} {
		if got := examples.Epsilon(c.q, c.sigma, c.rounds, c.delta); !(math.Abs(got-c.want) <= 1e-10*c.want) && got != c.want {
			t.Errorf("q = %v, σ = %v, T = %d, δ = %v: ε = %v, want %v", c.q, c.sigma, c.rounds, c.delta, got, c.want)
		}
	}
}

// one runs one round, and returns x and ε.
func one(t *testing.T, s fedkit.Strategy, x func() *fedkit.Matrix, seed uint64) (values []float64, epsilon float64) {
	h := run(t, digits(), s, fedkit.Options{Rounds: 1, Seed: seed})
	return precision.Double(must.M1(x().Host())), float64(h.Last().Notes["epsilon"])
}

// The noise of the mean has the standard deviation σC/(qM), whatever the cohort is.
func TestNoise(t *testing.T) {
	private := func(noise float64) []float64 {
		s := &examples.DPFedAvg{Fraction: 0.4, Clip: 0.5, Noise: noise, Local: short}
		x, epsilon := one(t, s, func() *fedkit.Matrix { return s.X }, 3)
		if want := examples.Epsilon(0.4, max(0, noise), 1, 1e-5); epsilon != want {
			t.Errorf("ε = %v, want %v", epsilon, want)
		}
		return x
	}
	noise := floats.SubTo(private(fedkit.Zero), private(2), private(fedkit.Zero))
	want, n := 2*0.5/(0.4*20), float64(len(noise))
	if mean, sd := stat.MeanStdDev(noise, nil); !(math.Abs(mean) <= 4*want/math.Sqrt(n) && math.Abs(sd/want-1) <= 4/math.Sqrt(2*n)) {
		t.Errorf("mean %v and standard deviation %v of %v values, want 0 and %v", mean, sd, n, want)
	}
}

// Frozen parameters get no noise.
func TestNoiseLeavesFrozenParametersAlone(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.Freeze(model.MLP(4), "dense1")))
	s := &examples.DPFedAvg{Local: short}
	run(t, fed, s, fedkit.Options{Rounds: 2})
	was, is := must.M1(must.M1(fed.Models(1, 0)).Host()), must.M1(s.X.Host())
	for i, frozen := range must.M1(fed.Task.Mask("dense1")) {
		if (was[i] == is[i]) != (frozen == 1) {
			t.Fatalf("parameter %d: %v, was %v", i, is[i], was[i])
		}
	}
}

// With many levels, QSGD is FedAvg. With one, its mean over many rounds is FedAvg's.
func TestQSGDIsUnbiased(t *testing.T) {
	expect.OK(t, fedtest.Identical(&examples.QSGD{Fraction: 0.5, Levels: 1 << 22, Local: standard}, &strategy.FedAvg{Fraction: 0.5, Local: standard}))
	expect.Long(t, "arithmetic")
	fed, full := must.M1(fedtest.Quadratic()), fedkit.Local{Batch: fedkit.FullBatch, LR: 0.1}
	avg, rough := &strategy.FedAvg{Local: full}, &examples.QSGD{Levels: 1, Local: full}
	var off [][]float64 // by parameter
	for seed := range uint64(200) {
		run(t, fed, avg, fedkit.Options{Rounds: 1, Seed: seed})
		run(t, fed, rough, fedkit.Options{Rounds: 1, Seed: seed})
		for j, v := range must.M1(rough.X.Sub(avg.X).Host()) {
			if seed == 0 {
				off = append(off, nil)
			}
			off[j] = append(off[j], float64(v))
		}
	}
	for j, values := range off {
		if mean, sd := stat.MeanStdDev(values, nil); !(sd > 1e-3 && math.Abs(mean) <= 4*sd/math.Sqrt(200)) {
			t.Errorf("parameter %d is off by %v ± %v", j, mean, sd)
		}
	}
}
