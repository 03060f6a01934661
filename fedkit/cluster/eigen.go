package cluster

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leading returns the k greatest eigenvalues of a symmetric matrix, in descending order, and their eigenvectors, [n, k]. For a
// large matrix they are approximate: the tolerance is relative to the greatest eigenvalue.
func leading(s *mat.Dense, k int, tolerance float64) ([]float64, *mat.Dense, error) {
	if n, _ := s.Dims(); n > 256 && krylovBlocks*(k+4) < n {
		if values, u := krylov(s, k, tolerance); u != nil {
			return values, u, nil
		}
	}
	n, _ := s.Dims()
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
