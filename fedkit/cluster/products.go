package cluster

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// products calls f in parallel with the inner products of each row i and the rows i, i+1, …. gonum multiplies four rows at once,
// and the remainder in another way. Rows of zeros pad the last four, so that equal rows have equal products wherever they are.
func products(x *mat.Dense, f func(i int, with []float64)) {
	n, p := x.Dims()
	filled := mat.NewDense(n+3, p, nil)
	filled.Copy(x)
	raw := filled.RawMatrix()
	const rows = 64 // per buffer of products
	parallel((n+rows-1)/rows, func(b int) {
		buffer := make([]float64, n+3)
		for i := b * rows; i < min(n, (b+1)*rows); i++ {
			from := raw
			from.Rows, from.Data = (n-i+3)/4*4, raw.Data[i*raw.Stride:]
			with := blas64.Vector{N: from.Rows, Inc: 1, Data: buffer}
			blas64.Gemv(blas.NoTrans, 1, from, blas64.Vector{N: p, Inc: 1, Data: filled.RawRowView(i)}, 0, with)
			f(i, buffer[:n-i])
		}
	})
}

// gramOf returns the inner products of the rows.
func gramOf(x *mat.Dense) *mat.SymDense {
	n := x.RawMatrix().Rows
	g := mat.NewSymDense(n, nil)
	products(x, func(i int, with []float64) { copy(upper(g, i), with) })
	return g
}
