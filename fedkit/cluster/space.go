package cluster

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// space is what k-means needs to know of the points x_i.
type space interface {
	lengths() []float64           // ‖x_i‖² about any origin, [n]
	products(j int, to []float64) // ⟨x_i, x_j⟩ about the same, [n]
	means(k int) means            // for one start
}

// means are the means of k groups of points.
type means interface {
	// measure sets d [n][k] to the distances of the points from the means of the groups in labels [n]. A distance may also be any
	// lower bound of it that is no less than the distance from the point's own mean. On entry, d is what the previous call set.
	measure(labels []int, d [][]float64)
}

// spaceOf uses coordinates if they are known and fewer than the points, else the Gram matrix.
func spaceOf(p *Points) space {
	if p.x != nil && p.x.RawMatrix().Cols < p.n {
		x := centered(p.x)
		return &vectors{x, squares(x)}
	}
	g := full(p.Centered())
	length := make([]float64, p.n)
	for i := range length {
		length[i] = g.At(i, i)
	}
	return &inner{g, length}
}

// vectors are points given by coordinates.
type vectors struct {
	x      *mat.Dense
	length []float64
}

func (v *vectors) lengths() []float64 { return v.length }

func (v *vectors) products(j int, to []float64) {
	mat.NewVecDense(len(to), to).MulVec(v.x, v.x.RowView(j))
}

func (v *vectors) means(k int) means { return &centers{vectors: v, k: k} }

// centers are means of vectors.
type centers struct {
	*vectors
	k    int
	mean *mat.Dense // [k, p]
}

// measure computes only the distances that may be less than that from the point's own mean: by the triangle inequality, a
// distance shrinks at most by the movement of the mean (Elkan 2003). On 3,000 overlapping points, k-means takes half to a third
// of the time.
func (m *centers) measure(labels []int, d [][]float64) {
	before := m.mean
	m.mean = m.of(labels)
	length, moved := squares(m.mean), make([]float64, m.k)
	for c := range moved {
		moved[c] = math.Inf(1)
		if before != nil {
			moved[c] = math.Sqrt(squared(m.mean.RawRowView(c), before.RawRowView(c)))
		}
	}
	for i, own := range labels {
		x, d := m.x.RawRowView(i), d[i]
		exact := func(c int) float64 {
			return math.Sqrt(max(0, m.length[i]-2*floats.Dot(x, m.mean.RawRowView(c))+length[c]))
		}
		d[own] = exact(own)
		for c := range d {
			if c == own {
				continue
			}
			if d[c] -= moved[c]; !(d[c] >= d[own]) { // or if the group was empty
				d[c] = exact(c)
			}
		}
	}
}

func (m *centers) of(labels []int) *mat.Dense {
	_, p := m.x.Dims()
	mean, size := mat.NewDense(m.k, p, nil), make([]float64, m.k)
	for i, c := range labels {
		floats.Add(mean.RawRowView(c), m.x.RawRowView(i))
		size[c]++
	}
	for c, n := range size {
		floats.Scale(1/n, mean.RawRowView(c))
	}
	return mean
}

// inner are points given by inner products.
type inner struct {
	g      *mat.Dense // [n, n], both halves
	length []float64
}

func (g *inner) lengths() []float64 { return g.length }

func (g *inner) products(j int, to []float64) { copy(to, g.g.RawRowView(j)) }

func (g *inner) means(k int) means { return &sums{inner: g, sum: zeros(k, len(g.length))} }

// sums are the sums s of the points in k groups, as inner products with all points, [k][n].
type sums struct {
	*inner
	before []int // the labels of the sums
	sum    [][]float64
}

// measure computes, with m points in the group,
//
//	‖x_i − s/m‖² = ‖x_i‖² − 2⟨x_i, s⟩/m + ‖s‖²/m².
func (m *sums) measure(labels []int, d [][]float64) {
	m.add(labels)
	size, length := make([]float64, len(m.sum)), make([]float64, len(m.sum))
	for i, c := range labels {
		size[c]++
		length[c] += m.sum[c][i]
	}
	for c, sum := range m.sum {
		twice, own := 2/size[c], length[c]/(size[c]*size[c])
		for i, product := range sum {
			d[i][c] = math.Sqrt(max(0, m.length[i]-twice*product+own))
		}
	}
}

// add moves the points whose group changed from sum to sum, in O(n) each.
func (m *sums) add(labels []int) {
	for j, c := range labels {
		if m.before != nil && m.before[j] == c {
			continue
		}
		if m.before != nil {
			floats.Sub(m.sum[m.before[j]], m.g.RawRowView(j))
		}
		floats.Add(m.sum[c], m.g.RawRowView(j))
	}
	m.before = append(m.before[:0], labels...)
}

// full returns both halves of a symmetric matrix, of which gonum keeps one.
func full(s *mat.SymDense) *mat.Dense {
	n, raw := s.SymmetricDim(), s.RawSymmetric()
	all := mat.NewDense(n, n, nil)
	parallel(n, func(i int) {
		row := all.RawRowView(i)
		for j := range i {
			row[j] = raw.Data[j*raw.Stride+i]
		}
		copy(row[i:], raw.Data[i*raw.Stride+i:i*raw.Stride+n])
	})
	return all
}
