package aggregate

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// TrimmedMean is the coordinate-wise mean without extremes, [1, d]: of the n sorted values, the ⌊βn⌋ smallest and the
// ⌊βn⌋ largest are dropped,
//
//	x[j] = mean of u_(k+1)[j] ≤ … ≤ u_(n−k)[j],  k = ⌊βn⌋,
//
// so that k clients cannot move it at will. The weights are not used (Yin et al., arXiv 1803.01498, Definition 2).
// Identity: β = 0 is the mean with equal weights.
type TrimmedMean struct {
	Share float64 `range:"[0,0.5)" default:"0.2"` // β, share dropped at each end; fedkit.Zero drops none
}

// Aggregate implements fedkit.Aggregator.
func (a TrimmedMean) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	if err := fedkit.Check(a, nil, u.Rows()); err != nil {
		return fedkit.Failed(err)
	}
	n := u.Rows()
	k := int(fedkit.Defaults(a).Share*float64(n) + 1e-9) // 0.29 · 100 is a little less than 29
	k = max(0, min(k, (n-1)/2))
	ranks := make([]float64, n)
	for i := k; i < n-k; i++ {
		ranks[i] = 1 / float64(n-2*k)
	}
	return u.Apply(byRank, int32(0), ranks)
}

// byRank is Σ_i p_i u_(i)[j] for every column j of u [n, d], sorted, with weights p [n] by rank.
var byRank = fedkit.NewProgram("weights by rank", func(a []*Node) *Node {
	u, first, p := a[0], a[1], a[2]
	n := u.Shape().Dimensions[0]
	return byColumns(u, first, func(u *Node) *Node {
		zero := Const(u.Graph(), int32(0))
		p := Reshape(DynamicSlice(p, []*Node{zero}, []int{n}), n, 1) // a loop reaches outer nodes only through slices
		u = Slice(sortRows(u), AxisRange(0, n))
		u = Where(BroadcastToDims(GreaterThan(p, ZerosLike(p)), u.Shape().Dimensions...), Mul(u, p), ZerosLike(u))
		return ReduceAndKeep(u, ReduceSum, 0)
	})
})
