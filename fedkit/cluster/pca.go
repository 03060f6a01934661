package cluster

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// PCA returns the coordinates [n, d] of the centered points along their first d principal axes, the greatest variance first. They
// come from the Gram matrix, however long the points are: with its eigenvalues λ_c and eigenvectors u_c [n], column c is
// √λ_c·u_c. The sign of an axis makes its coordinate of greatest size positive, the first in a tie. Axes beyond the rank of the
// points are 0.
//
// Errors: d < 1 or too many, and those of points as in Clusterer.
func PCA(p *Points, d int) (*mat.Dense, error) {
	if d < 1 {
		return nil, fault.Invalid("d", d, "at least 1")
	}
	if most := (1 << 30) / max(1, p.Len()); d > most {
		return nil, fault.Invalid("d", d, fmt.Sprintf("at most %d for %d points", most, p.Len()))
	}
	if err := p.finite(); err != nil {
		return nil, err
	}
	values, found, err := p.axes(d)
	if err != nil {
		return nil, err
	}
	at := mat.NewDense(p.n, d, nil)
	for c, v := range values {
		if v <= values[0]*float64(p.n)*0x1p-52 {
			break // the rest is rounding
		}
		axis := mat.Col(nil, c, found)
		floats.Scale(math.Copysign(1, farthest(axis)), axis)
		at.SetCol(c, axis)
	}
	return at, nil
}

// axes returns the greatest eigenvalues and the coordinates along their axes, at most d. With fewer features than points, it
// decomposes the features' scatter matrix.
func (p *Points) axes(d int) ([]float64, *mat.Dense, error) {
	if p.x != nil && p.x.RawMatrix().Cols < p.n {
		var scatter, at mat.Dense
		x := centered(p.x)
		scatter.Mul(x.T(), x)
		values, v, err := leading(&scatter, min(d, x.RawMatrix().Cols), 1e-10)
		if err == nil {
			at.Mul(x, v)
		}
		return values, &at, err
	}
	values, u, err := leading(aroundMean(full(p.Centered())), min(d, p.n), 1e-10)
	if err == nil {
		u.Apply(func(_, c int, v float64) float64 { return v * math.Sqrt(max(0, values[c])) }, u)
	}
	return values, u, err
}

// aroundMean double-centers inner products in place, which moves their origin to the points' mean:
//
//	g_ij − mean_l g_il − mean_l g_lj + mean_lm g_lm.
func aroundMean(g *mat.Dense) *mat.Dense {
	n, _ := g.Dims()
	mean := make([]float64, n)
	for i := range n {
		mean[i] = floats.Sum(g.RawRowView(i)) / float64(n)
	}
	all := floats.Sum(mean) / float64(n)
	g.Apply(func(i, j int, v float64) float64 { return v - mean[i] - mean[j] + all }, g)
	return g
}

// farthest returns the first number of greatest size, up to rounding.
func farthest(v []float64) float64 {
	most := floats.Norm(v, math.Inf(1))
	for _, x := range v {
		if math.Abs(x) >= most*(1-1e-9) {
			return x
		}
	}
	return 0
}

// Directions returns the first d principal directions as weights of the centered points, [d, n]: direction c, a unit vector, is
// Σ_i weights[c][i] (x_i − mean). Directions in which the points differ by no more than rounding in float32 are 0.
//
// Errors: those of PCA.
func Directions(p *Points, d int) (weights [][]float64, err error) {
	at, err := PCA(p, d) // column c is √λ_c u_c
	if err != nil {
		return nil, err
	}
	most := 0.0
	for c := range d {
		axis := mat.Col(nil, c, at)
		lambda := floats.Dot(axis, axis)
		if most = max(most, lambda); lambda > 1e-6*most {
			floats.Scale(1/lambda, axis)
		} else {
			clear(axis)
		}
		weights = append(weights, axis)
	}
	return weights, nil
}

// leading returns the k greatest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors, [n, k]. For a
// large matrix they are approximate: the tolerance is relative to the greatest eigenvalue.
func leading(s *mat.Dense, k int, tolerance float64) ([]float64, *mat.Dense, error) {
	n, _ := s.Dims()
	if n > 256 && krylovBlocks*(k+4) < n {
		if values, u := krylov(s, k, tolerance); u != nil {
			return values, u, nil
		}
	}
	return dense(mat.NewSymDense(n, s.RawMatrix().Data), k)
}

// dense computes the full decomposition, in O(n³).
func dense(s mat.Symmetric, k int) ([]float64, *mat.Dense, error) {
	n := s.SymmetricDim()
	var all mat.EigenSym
	if !all.Factorize(s, true) {
		return nil, nil, errors.New("cluster: the eigenvectors of a matrix were not found")
	}
	var vectors mat.Dense
	all.VectorsTo(&vectors)
	ascending := all.Values(nil)
	values, u := make([]float64, k), mat.NewDense(n, k, nil)
	for c := range k {
		values[c] = ascending[n-1-c]
		u.SetCol(c, mat.Col(nil, n-1-c, &vectors))
	}
	return values, u, nil
}

// krylovBlocks is the capacity of a basis, in blocks of vectors.
const krylovBlocks = 8

// krylov finds them by the Rayleigh–Ritz method in a block Krylov space, which grows by the residuals of the current
// approximations. With the rows of V [m, n] an orthonormal basis, H = V S V' = Y'ΘY and X = YV,
//
//	R = XS − ΘX,  V ← V and R, made orthonormal,
//
// until R is small. Blocks of k+4 vectors find multiple eigenvalues, too. A full basis restarts from X (thick restart, Wu and
// Simon 2000). It is written by hand because gonum finds only all eigenvalues: for five of n = 3,000, minutes in place of half a
// second. It returns nil if it does not converge.
func krylov(s *mat.Dense, k int, tolerance float64) ([]float64, *mat.Dense) {
	n, _ := s.Dims()
	block, m := k+4, 0
	columns := krylovBlocks * block
	v, sv, h := mat.NewDense(columns, n, nil), mat.NewDense(columns, n, nil), mat.NewSymDense(columns, nil)
	rows := func(a *mat.Dense, from, to int) *mat.Dense { return a.Slice(from, to, 0, n).(*mat.Dense) }
	rng := rand.New(rand.NewPCG(0, 0))
	v.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, v)
	for range 200 {
		orthonormal(v, m, m+block)
		times(s, v, sv, m, m+block)
		for i := m; i < m+block; i++ {
			for j := range i + 1 {
				h.SetSym(i, j, floats.Dot(v.RawRowView(j), sv.RawRowView(i)))
			}
		}
		m += block
		values, y, err := dense(h.SliceSym(0, m), block)
		if err != nil {
			return nil, nil
		}
		var x, r mat.Dense
		x.Mul(y.T(), rows(v, 0, m))
		r.Mul(y.T(), rows(sv, 0, m))
		if m == columns {
			m = block
			rows(v, 0, m).Copy(&x)
			rows(sv, 0, m).Copy(&r)
			h.CopySym(mat.NewDiagDense(m, values))
		}
		off := 0.0
		for c, value := range values {
			floats.AddScaled(r.RawRowView(c), -value, x.RawRowView(c))
			if c < k {
				off = max(off, floats.Norm(r.RawRowView(c), 2))
			}
		}
		if off <= tolerance*math.Abs(values[0]) {
			return values[:k], mat.DenseCopyOf(rows(&x, 0, k).T())
		}
		rows(v, m, m+block).Copy(&r)
	}
	return nil, nil
}

// times sets the rows from, …, to−1 of sv to those of v times a symmetric matrix.
func times(s, v, sv *mat.Dense, from, to int) {
	n, _ := s.Dims()
	rows, product := v.Slice(from, to, 0, n), mat.NewDense(n, to-from, nil)
	parallel(n, func(i int) {
		product.RowView(i).(*mat.VecDense).MulVec(rows, s.RowView(i))
	})
	sv.Slice(from, to, 0, n).(*mat.Dense).Copy(product.T())
}

// orthonormal makes the rows from, …, to−1 of v orthonormal, to each other and to those before them.
func orthonormal(v *mat.Dense, from, to int) {
	for i := from; i < to; i++ {
		row := v.RawRowView(i)
		for range 5 { // again if little more than rounding is left
			length := floats.Norm(row, 2)
			if length == 0 {
				row[i], length = 1, 1
			}
			floats.Scale(1/length, row)
			for j := range i {
				floats.AddScaled(row, -floats.Dot(row, v.RawRowView(j)), v.RawRowView(j))
			}
			length = floats.Norm(row, 2)
			if length > 0.5 {
				floats.Scale(1/length, row)
				break
			}
		}
	}
}
