package cluster

import (
	"cmp"
	"math"
	"math/rand/v2"

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
