package aggregate

import (
	"math"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// GeometricMedian is the point with the smallest weighted sum of distances to the rows, [1, d],
//
//	x = argmin_z Σ α_i ‖z − u_i‖₂,  α_i = p_i/Σp.
//
// Clients with less than half of the weight cannot move it at will (RFA; Pillutla et al., arXiv 1912.13445). It is found
// by the smoothed Weiszfeld iteration (Algorithm 2 there), β_i = α_i/max(ν, ‖z − u_i‖), z ← Σ β_i u_i/Σβ, starting at the
// coordinate-wise median. z is always a mixture of the rows, so the iteration needs only their inner products.
// It uses the weights: a client that claims many examples weighs a lot. Identity: with one client, its row.
type GeometricMedian struct {
	Smoothing  float64 `range:"(0,inf)" default:"1e-6"` // ν, the least distance: smaller ones count as ν
	Iterations int     `range:"[1,inf)" default:"500"`  // at most; stops once no weight moves by more than 1e-9
}

// Aggregate implements fedkit.Aggregator.
func (a GeometricMedian) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
	if err := fedkit.Check(a, nil, u.Rows()); err != nil {
		return fedkit.Failed(err)
	}
	a = fedkit.Defaults(a)
	g, err := centered(u)
	if err != nil {
		return fedkit.Failed(err)
	}
	n := u.Rows()
	if weights != nil && len(weights) != n {
		return u.Mean(weights) // reports the wrong length
	}
	z := mat.NewVecDense(n, nil) // coefficients: of the center at first, then of Σ z_i u_i
	for range a.Iterations {
		var gz mat.VecDense
		gz.MulVec(g, z)
		zz := mat.Dot(z, &gz)
		next := make([]float64, n)
		for i := range next {
			far := math.Sqrt(max(0, g.At(i, i)-2*gz.AtVec(i)+zz))
			next[i] = 1 / max(far, a.Smoothing)
			if weights != nil {
				next[i] *= weights[i]
			}
		}
		floats.Scale(1/floats.Sum(next), next)
		moved := floats.Distance(next, z.RawVector().Data, math.Inf(1))
		z = mat.NewVecDense(n, next)
		if moved <= 1e-9 {
			break
		}
	}
	return u.Mean(z.RawVector().Data)
}
