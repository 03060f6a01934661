package rows

import (
	"slices"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/memory"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// Points returns the rows of m as points for clustering. Only inner products reach the host, [n+1, n+1]: the Gram matrix of the
// centered rows and their mean, so that float32 keeps the digits of small differences.
func (m *Matrix) Points() (*cluster.Points, error) {
	if err := memory.FitsPairs("rows", m.Rows()); err != nil {
		return nil, err
	}
	mean := m.Mean(nil)
	if err := mean.Err(); err != nil {
		return nil, err
	}
	gram, place := m.pieces.apply(gramAround, mean)
	if gram == nil {
		gram, place = m.Apply(gramAround, mean), engine.Sequence(m.rows)
	}
	v, err := gram.Host()
	if err != nil {
		return nil, err
	}
	place = append(slices.Clip(place), gram.rows-1) // the mean
	n := len(place)
	upper := make([]float64, n*n)
	for i, at := range place {
		for j := i; j < n; j++ {
			upper[i*n+j] = float64(v[at*gram.rows+place[j]])
		}
	}
	return cluster.FromShiftedGram(mat.NewSymDense(n, upper)), nil
}

// columnsAtOnce is how many columns are centered at a time, so that they are still in the cache when they are multiplied.
const columnsAtOnce = 1 << 15

// gramAround is the Gram matrix of the rows of some matrices minus a center [1, d], and of the center itself.
var gramAround = NewProgram("gram around", func(a []*graph.Node) (gram *graph.Node) {
	matrices, center := a[:len(a)-1], a[len(a)-1]
	d := center.Shape().Dimensions[1]
	for from := 0; from < d; from += columnsAtOnce {
		some := func(m *graph.Node) *graph.Node {
			return graph.Slice(m, graph.AxisRange(), graph.AxisRange(from, min(from+columnsAtOnce, d)))
		}
		var rows []*graph.Node
		for _, m := range matrices {
			rows = append(rows, graph.Sub(some(m), some(center)))
		}
		all := graph.Concatenate(append(rows, some(center)), 0)
		part := graph.DotGeneral(all, []int{1}, nil, all, []int{1}, nil)
		if gram == nil {
			gram = part
		} else {
			gram = graph.Add(gram, part)
		}
	}
	return gram
})
