package cluster

import (
	"gonum.org/v1/gonum/mat"
)

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
