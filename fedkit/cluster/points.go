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
	return &Points{n: n, gram: gram.SliceSym(0, n).(*mat.SymDense), origin: mat.Col(nil, n, gram)[:n], length: gram.At(n, n)}
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

// Condensed is a symmetric matrix of n points with zeros on the diagonal, such as distances, in n(n−1)/2 float64 in the order of
// SciPy's pdist.
type Condensed struct {
	n int
	v []float64
}

// NewCondensed returns zeros for the pairs of n points; none if n < 2.
func NewCondensed(n int) *Condensed {
	n = sized(n, n)
	return &Condensed{n, make([]float64, n*(n-1)/2)}
}

// Len returns n.
func (d *Condensed) Len() int {
	if d == nil {
		return 0
	}
	return d.n
}

// Values returns the numbers of the pairs (0,1), (0,2), …, (1,2), …. They are not a copy.
func (d *Condensed) Values() []float64 { return d.v }

func (d *Condensed) at(i, j int) int {
	if i > j {
		i, j = j, i
	}
	return i*d.n - i*(i+1)/2 + j - i - 1
}

// At returns the number of a pair, 0 if i = j.
func (d *Condensed) At(i, j int) float64 {
	if i == j {
		return 0
	}
	return d.v[d.at(i, j)]
}

// Set sets the number of a pair, i ≠ j.
func (d *Condensed) Set(i, j int, v float64) { d.v[d.at(i, j)] = v }

// after returns the numbers of the pairs (i, i+1), …, (i, n−1). They are not a copy.
func (d *Condensed) after(i int) []float64 {
	from := i*d.n - i*(i+1)/2
	return d.v[from : from+d.n-i-1]
}

// row copies the numbers of all pairs of i, [n]; 0 for i itself.
func (d *Condensed) row(i int, to []float64) {
	at := i - 1
	for j := range to[:i] {
		to[j] = d.v[at]
		at += d.n - 2 - j
	}
	to[i] = 0
	copy(to[i+1:], d.after(i))
}

// setRow is the inverse of row.
func (d *Condensed) setRow(i int, from []float64) {
	at := i - 1
	for j, v := range from[:i] {
		d.v[at] = v
		at += d.n - 2 - j
	}
	copy(d.after(i), from[i+1:])
}

// gram is classical scaling (Torgerson 1952): inner products about the mean.
func (d *Condensed) gram() *mat.SymDense {
	n := d.n
	mean, all, row := make([]float64, n), 0.0, make([]float64, n)
	for i := range n {
		d.row(i, row)
		for _, v := range row {
			mean[i] += v * v / float64(n)
		}
		all += mean[i] / float64(n)
	}
	g := mat.NewSymDense(n, nil)
	for i := range n {
		g.SetSym(i, i, mean[i]-all/2)
		for o, v := range d.after(i) {
			j := i + 1 + o
			g.SetSym(i, j, -(v*v-mean[i]-mean[j]+all)/2)
		}
	}
	return g
}
