package cluster

import (
	"math"

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
		panic(invalid("gram", "nil", "the inner products of the points"))
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
