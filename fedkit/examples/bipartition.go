package examples

import (
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// bipartition splits the rows of delta [n, d] that have a weight in two, so that the greatest cosine between a row of one
// part and a row of the other is as small as it can be. It returns the part without the first row.
//
// A row belongs to the first part if a chain of rows leads there, each of whose cosines is greater than the least that some
// row needs.
func bipartition(r *fedkit.Round, delta *fedkit.Matrix, weights []float64) (second []int) {
	gram, err := delta.Gram()
	if err != nil {
		r.Fail(err)
		return nil
	}
	var rows []int
	for i, w := range weights {
		if w > 0 {
			rows = append(rows, i)
		}
	}
	near := slices.Repeat([]float64{math.Inf(-1)}, len(rows)) // by row, the least cosine in the best chain to the first
	near[0] = math.Inf(1)
	for moved := true; moved; {
		moved = false
		for a, i := range rows {
			for b, j := range rows {
				if via := min(near[a], gram.At(i, j)/math.Sqrt(gram.At(i, i)*gram.At(j, j))); via > near[b] {
					near[b], moved = via, true
				}
			}
		}
	}
	for a, i := range rows {
		if len(rows) > 1 && near[a] == slices.Min(near) {
			second = append(second, i)
		}
	}
	return second
}
