package aggregate

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	. "github.com/gomlx/gomlx/core/graph"
)

// Median is the coordinate-wise median, [1, d]; for an even number of clients, the mean of the middle two values. The
// weights are not used (Yin et al., arXiv 1803.01498).
type Median struct{}

// Aggregate implements fedkit.Aggregator.
func (Median) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	return u.Apply(median, int32(0))
}

var median = fedkit.NewProgram("median", func(a []*Node) *Node {
	u, first := a[0], a[1]
	n := u.Shape().Dimensions[0]
	return byColumns(u, first, func(u *Node) *Node {
		return ReduceAndKeep(Slice(sortRows(u), AxisRange((n-1)/2, n/2+1)), ReduceMean, 0)
	})
})

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

// cached is how many values are processed at a time, so that they stay in the CPU's cache.
const cached = 1 << 19

// byColumns applies f, which turns [n, w] into [1, w] column by column, to blocks of the columns of u [n, d]. first is
// the scalar 0 as an argument, since the loop cannot use a constant created outside it.
func byColumns(u, first *Node, f func(u *Node) *Node) *Node {
	n, d := u.Shape().Dimensions[0], u.Shape().Dimensions[1]
	w := min(d, max(1, cached/powerOfTwo(n)))
	s := xla.NewLoop(u.Graph())
	s.Add("from", first)
	s.Add("out", Slice(u, AxisRange(0, 1)))
	s.Run(func(s *xla.Loop) *Node { return LessThan(s.One("from"), Const(s.One("from").Graph(), int32(d))) }, func(s *xla.Loop) {
		from := s.One("from")
		zero := Const(from.Graph(), int32(0))
		at := []*Node{zero, Min(from, Const(from.Graph(), int32(d-w)))} // the last block may overlap the previous one
		s.Set("out", DynamicUpdateSlice(s.One("out"), f(DynamicSlice(u, at, []int{n, w})), at))
		s.Set("from", AddScalar(from, int32(w)))
	})
	return s.One("out")
}

// sortRows sorts every column of u [n, w] by a bitonic network (Batcher 1968): log²n steps that compare and exchange
// whole rows. Such steps vectorize; a sort that compares single values does not.
func sortRows(u *Node) *Node {
	n, w := u.Shape().Dimensions[0], u.Shape().Dimensions[1]
	rows := powerOfTwo(n)
	if rows > n {
		u = Concatenate([]*Node{u, BroadcastToDims(Infinity(u.Graph(), u.DType(), 1), rows-n, w)}, 0)
	}
	for size := 2; size <= rows; size *= 2 { // merges sorted runs of size/2 rows into runs of size
		for k := size / 2; k >= 1; k /= 2 {
			u = Reshape(u, rows/(2*k), 2, k, w)
			a, b := Slice(u, AxisRange(), AxisElem(0)), Slice(u, AxisRange(), AxisElem(1))
			if k == size/2 { // reversing the second run makes the pair bitonic
				b = Reverse(b, 2)
			}
			low, high := Min(a, b), Max(a, b)
			if k == size/2 {
				high = Reverse(high, 2)
			}
			u = Concatenate([]*Node{low, high}, 1)
		}
	}
	return Reshape(u, rows, w)
}

// powerOfTwo returns the smallest power of two that is at least n.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
