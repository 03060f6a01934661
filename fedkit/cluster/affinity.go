package cluster

import (
	"fmt"
	"math"

	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/mat"
)

// Affinity measures how similar each pair of points is: numbers ≥ 0, [n, n]. The diagonal is ignored.
type Affinity interface {
	Affinity(p *Points) (*mat.SymDense, error) // the matrix, or why there is none
}

// AffinityFunc turns a function into an Affinity.
type AffinityFunc func(p *Points) (*mat.SymDense, error)

// Affinity calls f.
func (f AffinityFunc) Affinity(p *Points) (*mat.SymDense, error) {
	if f == nil {
		return nil, invalid("cluster.AffinityFunc", "nil", "a function")
	}
	return f(p)
}

// PositiveCosine is the cosine similarity, or 0 if it is negative or a point is zero. On updates, it is their normalized
// correlation.
type PositiveCosine struct{}

// Affinity implements Affinity.
func (PositiveCosine) Affinity(p *Points) (*mat.SymDense, error) {
	g, length := p.Gram(), make([]float64, p.Len())
	for i := range length {
		length[i] = math.Sqrt(max(0, g.At(i, i)))
	}
	return pairwise(p.Len(), func(i, j int) float64 {
		if both := length[i] * length[j]; both > 0 {
			return max(0, g.At(i, j)/both)
		}
		return 0
	}), nil
}

// Gaussian is the RBF kernel exp(−γ d²) of the distance d between two points.
type Gaussian struct {
	Gamma float64 `range:"(0,inf)" default:"1"` // γ, per squared distance
}

// Affinity implements Affinity.
func (a Gaussian) Affinity(p *Points) (*mat.SymDense, error) {
	if !(a.Gamma >= 0) {
		return nil, invalid("Gamma", a.Gamma, "a number > 0, or 0 for the default of 1")
	}
	d, gamma := p.Distances(), config.Defaults(a).Gamma
	return pairwise(p.Len(), func(i, j int) float64 { return math.Exp(-gamma * d.At(i, j) * d.At(i, j)) }), nil
}

// InnerProduct is the inner product of two points. With FromGram, it is any precomputed affinity.
type InnerProduct struct{}

// Affinity implements Affinity.
func (InnerProduct) Affinity(p *Points) (*mat.SymDense, error) { return p.Gram(), nil }

// pairwise returns the symmetric matrix of f(i, j), i < j; its diagonal is 0.
func pairwise(n int, f func(i, j int) float64) *mat.SymDense {
	if n == 0 {
		return new(mat.SymDense)
	}
	a := mat.NewSymDense(n, nil)
	parallel(n, func(i int) {
		for j := i + 1; j < n; j++ {
			a.SetSym(i, j, f(i, j))
		}
	})
	return a
}

func sizeOf(a *mat.SymDense) string {
	if a == nil {
		return "nothing"
	}
	return fmt.Sprintf("a matrix for %d", a.SymmetricDim())
}

// checkAffinity refuses a matrix that is not an affinity of n points.
func checkAffinity(a *mat.SymDense, n int) error {
	if a == nil || a.SymmetricDim() != n {
		return invalid("what Affinity returned", sizeOf(a), fmt.Sprintf("a matrix for %d points", n))
	}
	return distances.check("Affinity of points %d and %d", n, func(i int) (int, []float64) { return i + 1, upper(a, i)[1:] })
}
