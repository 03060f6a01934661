package aggregate

import (
	"fedkit.example/fedkit"
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
