package cluster

import (
	"gonum.org/v1/gonum/mat"
)

// Points are n points to be clustered, given by coordinates, inner products or distances; whatever a method needs is computed
// from these. Make them with FromVectors, FromGram, FromShiftedGram or FromDistances, or with Matrix.Points from the rows of a
// matrix on the device. They are immutable: do not modify what they were made from. Clusterers check that all numbers are finite.
type Points struct {
	n         int
	x         *mat.Dense    // [n, p], or nil
	gram      *mat.SymDense // [n, n] about any origin, or nil
	origin    []float64     // with gram: inner products of the points with their common part, if gram is without it
	length    float64       // squared length of the common part
	distances *Condensed    // or nil
}

// FromVectors returns points with the coordinates x [n, p].
func FromVectors(x *mat.Dense) *Points {
	if x == nil || x.IsEmpty() {
		return new(Points)
	}
	return &Points{n: x.RawMatrix().Rows, x: x}
}

// FromRows returns points with the coordinates of some rows of x, at least one.
func FromRows(x *mat.Dense, rows []int) *Points {
	if x == nil || len(rows) == 0 {
		return new(Points)
	}
	some := mat.NewDense(len(rows), x.RawMatrix().Cols, nil)
	for at, i := range rows {
		some.SetRow(at, x.RawRowView(i))
	}
	return FromVectors(some)
}

// FromGram returns points whose inner products are gram [n, n].
func FromGram(gram *mat.SymDense) *Points {
	if gram == nil || gram.IsEmpty() {
		return new(Points)
	}
	return &Points{n: gram.SymmetricDim(), gram: gram}
}

// FromShiftedGram returns points x_i + m, given the inner products [n+1, n+1] of x_1, …, x_n and m. With a small x and a large m,
// such as models around their mean, rounding the inner products to float32 loses nothing that matters: each keeps its own digits.
func FromShiftedGram(gram *mat.SymDense) *Points {
	if gram == nil || gram.SymmetricDim() < 2 {
		return new(Points)
	}
	n := gram.SymmetricDim() - 1
	p := &Points{n: n, gram: gram.SliceSym(0, n).(*mat.SymDense), origin: make([]float64, n), length: gram.At(n, n)}
	for i := range n {
		p.origin[i] = gram.At(i, n)
	}
	return p
}

// FromDistances returns points given by their distances alone.
func FromDistances(d *Condensed) *Points {
	if d == nil {
		return new(Points)
	}
	return &Points{n: d.Len(), distances: d}
}

// Len returns n.
func (p *Points) Len() int {
	if p == nil {
		return 0
	}
	return p.n
}

// Gram returns the inner products of the points [n, n]. If only distances are known, they are about the points' mean:
//
//	−½ (d_ij² − mean_l d_il² − mean_l d_lj² + mean_lm d_lm²).
//
// Do not modify the result.
func (p *Points) Gram() *mat.SymDense {
	switch {
	case p.Len() == 0:
		return new(mat.SymDense)
	case p.x != nil:
		return gramOf(p.x)
	case p.distances != nil:
		return p.distances.gram()
	case p.origin == nil:
		return p.gram
	}
	g := mat.NewSymDense(p.n, nil)
	for i := range p.n {
		for o, v := range upper(p.gram, i) {
			g.SetSym(i, i+o, v+p.origin[i]+p.origin[i+o]+p.length)
		}
	}
	return g
}

// Centered returns inner products [n, n] about the origin that keeps most digits of the distances: the mean, or the origin of the
// given inner products. Do not modify the result.
func (p *Points) Centered() *mat.SymDense {
	switch {
	case p.Len() > 0 && p.x != nil:
		return gramOf(centered(p.x))
	case p.Len() > 0 && p.gram != nil:
		return p.gram
	}
	return p.Gram()
}
