// Package aggregate has the ways to turn the rows that came back from the clients into one: the mean, and robust
// alternatives that a few bad clients cannot move far.
package aggregate

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Mean is the weighted mean Σ p_i u_i / Σ p_i, [1, d].
type Mean struct{}

// Aggregate implements fedkit.Aggregator.
func (Mean) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix { return u.Mean(weights) }

// Median is the median of every coordinate, [1, d]; of an even number of clients, the mean of the middle two. The
// weights are not used (Yin et al., arXiv 1803.01498).
type Median struct{}

// Aggregate implements fedkit.Aggregator.
func (Median) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix { return u.Apply(median) }

var median = fedkit.NewProgram("median", func(a []*Node) *Node {
	n := a[0].Shape().Dimensions[0]
	sorted := Sort(a[0], 0, true)
	return ReduceAndKeep(Slice(sorted, AxisRange((n-1)/2, n/2+1)), ReduceMean, 0)
})
