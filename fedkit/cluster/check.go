package cluster

import (
	"fmt"
	"math"

	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/mat"
)

// largest bounds coordinates and distances, so that no sum of their squares overflows.
const largest = 1e100

// sized returns a number of groups, at least 0. Its callers return no error, so it panics with one if k·n numbers fit in no memory.
func sized(k, n int) int {
	if most := (1 << 30) / max(n, 1); k > most {
		panic(fault.Invalid("k", k, fmt.Sprintf("at most %d for %d points", most, n)))
	}
	return max(k, 0)
}

// check refuses k < 1, and points that cannot be clustered.
func (p *Points) check(k int) error {
	if k < 1 {
		return fault.Invalid("k", k, "at least 1")
	}
	return p.finite()
}

// limit is a range of numbers.
type limit struct {
	low, high float64
	words     string
}

var (
	coordinates   = limit{-largest, largest, "a number, at most 1e100 in size"}
	innerProducts = limit{-largest * largest, largest * largest, "a number, at most 1e200 in size"}
	distances     = limit{0, largest, "a number in [0, 1e100]"}
)

// check refuses rows with a number outside the limit. A row has the values of the columns from some column on; name formats row and
// column.
func (l limit) check(name string, rows int, row func(i int) (from int, values []float64)) error {
	for i := range rows {
		from, values := row(i)
		for o, v := range values {
			if !(v >= l.low && v <= l.high) {
				return fault.Invalid(fmt.Sprintf(name, i, from+o), v, l.words)
			}
		}
	}
	return nil
}

// finite refuses an empty set of points, and values that are not finite or too large.
func (p *Points) finite() error {
	switch {
	case p.Len() < 1:
		return fault.Invalid("the number of points", 0, "at least 1")
	case p.x != nil:
		return coordinates.check("feature %[2]d of point %[1]d", p.n, func(i int) (int, []float64) { return 0, p.x.RawRowView(i) })
	case p.distances != nil:
		return distances.check("the distance of points %d and %d", p.n, func(i int) (int, []float64) { return i + 1, p.distances.after(i) })
	}
	if err := innerProducts.check("the inner product of points %d and %d", p.n, func(i int) (int, []float64) { return i, upper(p.gram, i) }); err != nil {
		return err
	}
	if !(math.Abs(p.length) <= innerProducts.high) {
		return fault.Invalid("the squared length of the common part", p.length, innerProducts.words)
	}
	return innerProducts.check("the inner product of point %[2]d and the common part", 1, func(int) (int, []float64) { return 0, p.origin })
}

// upper returns row i of a symmetric matrix from the diagonal on. It is not a copy.
func upper(s *mat.SymDense, i int) []float64 {
	raw := s.RawSymmetric()
	return raw.Data[i*raw.Stride+i : i*raw.Stride+raw.N]
}
