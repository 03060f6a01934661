package cluster

import (
	"gonum.org/v1/gonum/mat"
)

// Points are n things to be grouped. They are known by coordinates, by inner products or by distances; a method takes what it
// needs, which is computed from what is known. Make them with Vectors, InnerProducts, Shifted or Apart, or with Matrix.Points
// from the rows of a matrix on the device. They never change, and neither may what they were made of. The methods that group
// them check that all numbers are finite.
type Points struct {
	n         int
	x         *mat.Dense    // [n, p], or nil
	gram      *mat.SymDense // [n, n] about any origin, or nil
	origin    []float64     // with gram: inner products of the points with their common part, if gram is without it
	length    float64       // squared length of the common part
	distances *Condensed    // or nil
}

// Vectors returns points with the coordinates x [n, p].
func Vectors(x *mat.Dense) *Points {
	if x == nil || x.IsEmpty() {
		return new(Points)
	}
	return &Points{n: x.RawMatrix().Rows, x: x}
}

// Rows returns points with the coordinates of some rows of x, at least one.
func Rows(x *mat.Dense, rows []int) *Points {
	some := mat.NewDense(len(rows), x.RawMatrix().Cols, nil)
	for at, i := range rows {
		some.SetRow(at, x.RawRowView(i))
	}
	return Vectors(some)
}

// InnerProducts returns points whose inner products are gram [n, n].
func InnerProducts(gram *mat.SymDense) *Points {
	if gram == nil || gram.IsEmpty() {
		return new(Points)
	}
	return &Points{n: gram.SymmetricDim(), gram: gram}
}

// Shifted returns points x_i + m, given the inner products [n+1, n+1] of x_1, …, x_n and m. With a small x and a large m, such
// as models around their mean, rounding the inner products to float32 loses nothing that matters.
func Shifted(gram *mat.SymDense) *Points {
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

// Apart returns points of which only the distances are known.
func Apart(d *Condensed) *Points {
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
// −½ (d_ij² − mean_l d_il² − mean_l d_lj² + mean_lm d_lm²). It may be what the points were made of: do not change it.
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
		for j := i; j < p.n; j++ {
			g.SetSym(i, j, p.gram.At(i, j)+p.origin[i]+p.origin[j]+p.length)
		}
	}
	return g
}

// Centered returns inner products [n, n] about an origin that keeps most digits of the distances: the mean, or that of the inner
// products that the points were made of. It may be these themselves: do not change it.
func (p *Points) Centered() *mat.SymDense {
	switch {
	case p.Len() > 0 && p.x != nil:
		return gramOf(centered(p.x))
	case p.Len() > 0 && p.gram != nil:
		return p.gram
	}
	return p.Gram()
}
