package cluster

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Distances returns the Euclidean distances of the points, or those they were made from. Do not modify the result.
func (p *Points) Distances() *Condensed {
	switch {
	case p.Len() == 0:
		return NewCondensed(0)
	case p.distances != nil:
		return p.distances
	case p.x != nil:
		return between(p.x)
	}
	d := NewCondensed(p.n)
	parallel(p.n, func(i int) {
		own, row := upper(p.gram, i), d.after(i)
		for o, v := range own[1:] {
			row[o] = math.Sqrt(max(0, own[0]-2*v+p.gram.At(i+1+o, i+1+o)))
		}
	})
	return d
}

// between returns the distances of vectors,
//
//	d² = ‖x‖² − 2⟨x, y⟩ + ‖y‖²,
//
// or Σ (x−y)² where that would lose digits to cancellation. Equal vectors are at distance 0 exactly.
func between(x *mat.Dense) *Condensed {
	d, length := NewCondensed(x.RawMatrix().Rows), squares(x)
	products(x, func(i int, with []float64) {
		row := d.after(i)
		for o, product := range with[1:] {
			j := i + 1 + o
			both := length[i] + length[j]
			square := both - 2*product
			if square < 1e-4*both {
				square = squared(x.RawRowView(i), x.RawRowView(j))
			}
			row[o] = math.Sqrt(square)
		}
	})
	return d
}

// squared is the squared distance of two vectors.
func squared(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return sum
}

// squares returns the squared length of each row.
func squares(x *mat.Dense) []float64 {
	l := make([]float64, x.RawMatrix().Rows)
	for i := range l {
		l[i] = floats.Dot(x.RawRowView(i), x.RawRowView(i))
	}
	return l
}

// CosineDistances returns 1 − cos for each pair of the given points [m] of gram; 1 if either is zero.
func CosineDistances(gram *mat.SymDense, points []int) *Condensed {
	if gram == nil && len(points) > 0 {
		panic(fault.Invalid("gram", "nil", "the inner products of the points"))
	}
	d := NewCondensed(len(points))
	for a, i := range points {
		for b, j := range points[:a] {
			cosine := 0.0
			if lengths := math.Sqrt(gram.At(i, i) * gram.At(j, j)); lengths > 0 {
				cosine = gram.At(i, j) / lengths
			}
			d.Set(a, b, max(0, 1-cosine)) // rounding may leave a little less
		}
	}
	return d
}

// centered returns the rows minus their mean.
func centered(x *mat.Dense) *mat.Dense {
	n, p := x.Dims()
	mean, out := make([]float64, p), mat.NewDense(n, p, nil)
	for i := range n {
		floats.AddScaled(mean, 1/float64(n), x.RawRowView(i))
	}
	for i := range n {
		floats.SubTo(out.RawRowView(i), x.RawRowView(i), mean)
	}
	return out
}

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

// parallel calls f(0), …, f(n−1), several at once. What f computes must not depend on the order.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}
