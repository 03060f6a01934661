package cluster

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// made returns a symmetric matrix with the given eigenvalues, and 0 for the rest.
func made(n int, values ...float64) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	u := mat.NewDense(len(values), n, nil)
	u.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, u)
	orthonormal(u, 0, len(values))
	s := mat.NewDense(n, n, nil)
	for c, v := range values {
		s.RankOne(s, v, mat.NewVecDense(n, u.RawRowView(c)), mat.NewVecDense(n, u.RawRowView(c)))
	}
	return s
}

// Some of the greatest eigenvalues are equal, some are negative or 0.
func TestKrylov(t *testing.T) {
	var noise mat.Dense
	half := mat.NewDense(280, 280, nil)
	rng := rand.New(rand.NewPCG(3, 4))
	half.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, half)
	noise.Add(half, half.T())
	for name, s := range map[string]*mat.Dense{
		"apart":          made(280, 9, 8, 7, 6, 5, 4, 3, 2, 1),
		"equal":          made(280, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1),
		"below 0":        made(280, 1, -20, -30, -40),
		"nothing":        mat.NewDense(280, 280, nil),
		"one":            made(280, 1e-30),
		"nearly equal":   made(280, 1, 1-1e-9, 1-2e-9, 1-3e-9, 0.5),
		"noise":          &noise,
		"many, all near": made(280, floats.Span(make([]float64, 280), 0.9, 1)...),
	} {
		want, _ := expect.Values(dense(mat.NewSymDense(280, s.RawMatrix().Data), 4))(t)
		got, u := krylov(s, 4, 1e-10)
		if u == nil {
			t.Errorf("%s: not found", name)
			continue
		}
		var su, uu mat.Dense
		su.Mul(s, u)
		uu.Mul(u.T(), u)
		size := max(math.Abs(want[0]), 1e-280)
		for c, v := range got {
			off := 0.0
			for i := range 280 {
				off = max(off, math.Abs(su.At(i, c)-v*u.At(i, c)))
			}
			expect.That(t, math.Abs(v-want[c]) <= 1e-9*size && off <= 1e-9*size, "%s: eigenvalue %d is %v, want %v; its vector is off by %v", name, c, v, want[c], off)
			for o := range got {
				if unit := map[bool]float64{true: 1}[c == o]; math.Abs(uu.At(c, o)-unit) > 1e-12 {
					t.Errorf("%s: vectors %d and %d have inner product %v", name, c, o, uu.At(c, o))
				}
			}
		}
	}
}
