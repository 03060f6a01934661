package strategy

import (
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// bipartition returns the part of each of the rows, 0 or 1, and the greatest cosine between a row of one and a row of the
// other; 1 for a row alone, which has nobody to leave. A row of zeros is at a right angle to all.
func (s *CFL) bipartition(r *fedkit.Round, gram *mat.SymDense, rows []int) (part []int, alpha float64) {
	if len(rows) < 2 {
		return nil, 1
	}
	apart := cluster.NewCondensed(len(rows)) // 1 − cosine
	for a, i := range rows {
		for b, j := range rows[:a] {
			cosine := 0.0
			if lengths := math.Sqrt(gram.At(i, i) * gram.At(j, j)); lengths > 0 {
				cosine = gram.At(i, j) / lengths
			}
			apart.Set(a, b, max(0, 1-cosine)) // rounding may leave a little less
		}
	}
	by := cluster.Single
	if s.Complete {
		by = cluster.Complete
	}
	part, alpha = r.Cluster(cluster.Agglomerative{Linkage: by}, cluster.Apart(apart), 2), math.Inf(-1)
	for a := range rows {
		for b := range a {
			if part[a] != part[b] {
				alpha = max(alpha, 1-apart.At(a, b))
			}
		}
	}
	return part, alpha
}
