package examples

import (
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// decomposed are points [n, k]: the cosines of vectors, given by their inner products [n, n], and the first k left singular vectors of the
// matrix whose columns they are.
func decomposed(gram *mat.SymDense, k int) *cluster.Points {
	var e mat.EigenSym
	var q mat.Dense
	e.Factorize(gram, true)
	e.VectorsTo(&q)
	n := gram.SymmetricDim()
	x := mat.NewDense(n, k, nil)
	for j, last := 0, e.Values(nil); j < min(k, n); j++ {
		for i := range n {
			if c := n - 1 - j; last[c] > 0 && gram.At(i, i) > 0 { // eigenvalues ascend
				x.Set(i, j, math.Sqrt(last[c]/gram.At(i, i))*q.At(i, c))
			}
		}
	}
	return cluster.FromVectors(x)
}

// lowRank are models [n, d] and centers [k, d] along the first principal directions of the models, [n+k, directions].
func lowRank(r *fedkit.Round, models, centers *fedkit.Matrix, directions int) *mat.Dense {
	p := r.Points(models)
	if r.Err() != nil {
		return nil
	}
	axes, err := cluster.Directions(p, directions)
	r.Fail(err)
	low, err := fedkit.StackRows(models, centers).Inner(models.Center().Mix(axes))
	r.Fail(err)
	return low
}
