package cluster

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// space is what k-means needs to know of the points x_i.
type space struct {
	lengths  []float64                 // ‖x_i‖² about any origin, [n]
	products func(j int, to []float64) // ⟨x_i, x_j⟩ about the same, [n]
	means    func(k int) measure       // for one start
}

// measure sets d [n][k] to the distances of the points from the means of the groups in labels [n]. A distance may also be any lower
// bound of it that is no less than the distance from the point's own mean. On entry, d is what the previous call set.
type measure func(labels []int, d [][]float64)

// spaceOf uses coordinates if they are known and fewer than the points, else the Gram matrix.
func spaceOf(p *Points) space {
	if p.x != nil && p.x.RawMatrix().Cols < p.n {
		return ofVectors(centered(p.x))
	}
	return ofProducts(full(p.Centered()))
}

// ofVectors is the space of points with the coordinates x [n, p].
func ofVectors(x *mat.Dense) space {
	length := squares(x)
	return space{
		lengths:  length,
		products: func(j int, to []float64) { mat.NewVecDense(len(to), to).MulVec(x, x.RowView(j)) },
		means: func(k int) measure {
			var mean *mat.Dense
			return func(labels []int, d [][]float64) {
				before := mean
				mean = meansOf(x, labels, k)
				update(d, labels, x, length, mean, before)
			}
		},
	}
}

// update computes only the distances that may be less than that from the point's own mean: by the triangle inequality, a distance
// shrinks at most by the movement of the mean (Elkan 2003). On 3,000 overlapping points, k-means takes half to a third of the time.
func update(d [][]float64, labels []int, x *mat.Dense, length []float64, mean, before *mat.Dense) {
	square, moved := squares(mean), make([]float64, len(d[0]))
	for c := range moved {
		moved[c] = math.Inf(1)
		if before != nil {
			moved[c] = math.Sqrt(squared(mean.RawRowView(c), before.RawRowView(c)))
		}
	}
	for i, own := range labels {
		d := d[i]
		exact := func(c int) float64 {
			return math.Sqrt(max(0, length[i]-2*floats.Dot(x.RawRowView(i), mean.RawRowView(c))+square[c]))
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

// meansOf returns the means of k groups of rows, [k, p].
func meansOf(x *mat.Dense, labels []int, k int) *mat.Dense {
	_, p := x.Dims()
	mean, size := mat.NewDense(k, p, nil), make([]float64, k)
	for i, c := range labels {
		floats.Add(mean.RawRowView(c), x.RawRowView(i))
		size[c]++
	}
	for c, n := range size {
		floats.Scale(1/n, mean.RawRowView(c))
	}
	return mean
}

// ofProducts is the space of points with the inner products g [n, n], both halves. It keeps the sums s of the points in k groups as
// inner products with all points, [k][n]. With m points in the group,
//
//	‖x_i − s/m‖² = ‖x_i‖² − 2⟨x_i, s⟩/m + ‖s‖²/m².
func ofProducts(g *mat.Dense) space {
	length := make([]float64, g.RawMatrix().Rows)
	for i := range length {
		length[i] = g.At(i, i)
	}
	return space{
		lengths:  length,
		products: func(j int, to []float64) { copy(to, g.RawRowView(j)) },
		means: func(k int) measure {
			var before []int // the labels of the sums
			sums := zeros(k, len(length))
			return func(labels []int, d [][]float64) {
				regroup(sums, g, before, labels)
				before = append(before[:0], labels...)
				size, square := make([]float64, k), make([]float64, k)
				for i, c := range labels {
					size[c]++
					square[c] += sums[c][i]
				}
				for c, sum := range sums {
					twice, own := 2/size[c], square[c]/(size[c]*size[c])
					for i, product := range sum {
						d[i][c] = math.Sqrt(max(0, length[i]-twice*product+own))
					}
				}
			}
		},
	}
}

// regroup moves the points whose group changed from sum to sum, in O(n) each.
func regroup(sums [][]float64, g *mat.Dense, before, labels []int) {
	for j, c := range labels {
		if before != nil && before[j] == c {
			continue
		}
		if before != nil {
			floats.Sub(sums[before[j]], g.RawRowView(j))
		}
		floats.Add(sums[c], g.RawRowView(j))
	}
}

// full returns both halves of a symmetric matrix, of which gonum keeps one.
func full(s *mat.SymDense) *mat.Dense {
	n := s.SymmetricDim()
	all := mat.NewDense(n, n, nil)
	parallel(n, func(i int) {
		row := all.RawRowView(i)
		for j := range i {
			row[j] = s.At(j, i)
		}
		copy(row[i:], upper(s, i))
	})
	return all
}
