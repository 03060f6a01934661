package examples

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// subspace returns the first p left singular vectors of a client's examples as columns, [f, p], from its rows x [n, f]. Vectors
// that x does not have, since n or f is less than p, are 0.
func subspace(x *mat.Dense, p int) *mat.Dense {
	svd, v := new(mat.SVD), new(mat.Dense)
	svd.Factorize(x, mat.SVDThinV) // right ones, since examples are rows
	svd.VTo(v)
	u := mat.NewDense(x.RawMatrix().Cols, p, nil)
	u.Copy(v)
	return u
}

// angle returns the sum of the n smallest of the p principal angles between two subspaces [f, p]: arccos σ_l(UᵀV). A vector that
// is 0 makes it π/2.
func angle(u, v *mat.Dense, n int) (sum float64) {
	svd, uv := new(mat.SVD), new(mat.Dense)
	uv.Mul(u.T(), v)
	svd.Factorize(uv, mat.SVDNone)
	cosines := svd.Values(nil)
	for _, c := range cosines[:min(n, len(cosines))] {
		sum += math.Acos(min(1, c))
	}
	return sum
}
