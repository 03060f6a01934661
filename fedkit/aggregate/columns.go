package aggregate

import (
	"fedkit.example/fedkit/internal/xla"
	. "github.com/gomlx/gomlx/core/graph"
)

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
