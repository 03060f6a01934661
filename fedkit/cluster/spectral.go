package cluster

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Spectral is normalized spectral clustering (Shi and Malik 2000; von Luxburg 2007, arXiv 0711.0189, section 4). With A the
// affinity of the points without its diagonal, D the diagonal matrix of its row sums and U [n, k] the eigenvectors of the k
// greatest eigenvalues of D^-½ A D^-½, k-means groups the rows of D^-½ U. A point with no affinity to any other has a self-loop.
//
// With the default affinity on updates, it is the covariance method.
//
// Errors: those of Clusterer, negative options, an affinity below 0 or not finite.
type Spectral struct {
	Affinity Affinity // default PositiveCosine
	Starts   int      `range:"[1,inf)" default:"10"` // k-means restarts
}

// Cluster implements Clusterer.
func (m Spectral) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	if err := p.check(k); err != nil {
		return nil, err
	}
	a, err := cmp.Or[Affinity](m.Affinity, PositiveCosine{}).Affinity(p)
	if err != nil {
		return nil, err
	}
	if err := checkAffinity(a, p.n); err != nil {
		return nil, err
	}
	s, scale := normalized(a)
	_, u, err := leading(s, min(k, p.n), 1e-6)
	if err != nil {
		return nil, err
	}
	for i, v := range scale {
		floats.Scale(v, u.RawRowView(i))
	}
	return KMeans{Starts: m.Starts}.Cluster(FromVectors(u), k, rng)
}

// normalized returns D^-½ A D^-½ and the diagonal of D^-½. An isolated point gets a self-loop.
func normalized(a *mat.SymDense) (s *mat.Dense, scale []float64) {
	s = full(a)
	n, _ := s.Dims()
	scale = make([]float64, n)
	for i := range n {
		row := s.RawRowView(i)
		row[i] = 0
		degree := floats.Sum(row)
		if degree < 1e-150 { // its root would be too small to divide by
			clear(row)
			row[i], degree = 1, 1
		}
		scale[i] = 1 / math.Sqrt(degree)
	}
	parallel(n, func(i int) {
		row := s.RawRowView(i)
		floats.Mul(row, scale)
		floats.Scale(scale[i], row)
	})
	return s, scale
}

// Affinity measures how similar each pair of points is: numbers ≥ 0, [n, n]. The diagonal is ignored.
type Affinity interface {
	Affinity(p *Points) (*mat.SymDense, error) // the matrix, or why there is none
}

// AffinityFunc turns a function into an Affinity.
type AffinityFunc func(p *Points) (*mat.SymDense, error)

// Affinity calls f.
func (f AffinityFunc) Affinity(p *Points) (*mat.SymDense, error) {
	if f == nil {
		return nil, fault.Invalid("cluster.AffinityFunc", "nil", "a function")
	}
	return f(p)
}

// PositiveCosine is the cosine similarity, or 0 if it is negative or a point is zero. On updates, it is their normalized
// correlation.
type PositiveCosine struct{}

// Affinity implements Affinity.
func (PositiveCosine) Affinity(p *Points) (*mat.SymDense, error) {
	return cosines(p, func(cos float64) float64 { return max(0, cos) }), nil
}

// ShiftedCosine is (1 + cos)/2 of the angle between two points, ½ if one of them is zero.
type ShiftedCosine struct{}

// Affinity implements Affinity.
func (ShiftedCosine) Affinity(p *Points) (*mat.SymDense, error) {
	return cosines(p, func(cos float64) float64 { return max(0, (1+cos)/2) }), nil
}

// cosines is a function of the points' cosine similarities, which are 0 for a point that is zero.
func cosines(p *Points, of func(cos float64) float64) *mat.SymDense {
	g, length := p.Gram(), make([]float64, p.Len())
	for i := range length {
		length[i] = math.Sqrt(max(0, g.At(i, i)))
	}
	return pairwise(p.Len(), func(i, j int) float64 {
		if both := length[i] * length[j]; both > 0 {
			return of(g.At(i, j) / both)
		}
		return of(0)
	})
}

// Gaussian is the RBF kernel exp(−γ d²) of the distance d between two points.
type Gaussian struct {
	Gamma float64 `range:"(0,inf)" default:"1"` // γ, per squared distance
}

// Affinity implements Affinity.
func (a Gaussian) Affinity(p *Points) (*mat.SymDense, error) {
	if err := config.CheckRanges(a); err != nil {
		return nil, err
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
		return fault.Invalid("what Affinity returned", sizeOf(a), fmt.Sprintf("a matrix for %d points", n))
	}
	return distances.check("Affinity of points %d and %d", n, func(i int) (int, []float64) { return i + 1, upper(a, i)[1:] })
}
