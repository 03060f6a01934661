package rows

import (
	"fmt"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/lru"
	"github.com/gomlx/gomlx/core/graph"
)

// Layer is a part of a model: ranges of its parameters.
type Layer struct {
	Name   string   // "dense1", what the names of its parameters begin with
	Size   int      // number of parameters
	Ranges [][2]int // of columns [from, to), ascending
}

// NormsBy returns the Euclidean norm of every layer of every row, [n][len(layers)]. They are computed in one pass.
func (m *Matrix) NormsBy(layers []Layer) ([][]float64, error) {
	if err := m.fitLayers(layers); err != nil {
		return nil, err
	}
	ranges := make([][][2]int, len(layers))
	for i, l := range layers {
		ranges[i] = l.Ranges
	}
	v, err := m.byRow(layerNorms.Get(fmt.Sprint(ranges), func() *rowwise {
		return newRowwise("norms by layer", func(rows *graph.Node, _ []*graph.Node) *graph.Node {
			var all []*graph.Node
			for _, own := range ranges {
				all = append(all, graph.InsertAxes(lengths(cut(rows, own)), -1))
			}
			return graph.Concatenate(all, 1)
		})
	}))
	if err != nil {
		return nil, err
	}
	norms := make([][]float64, m.rows)
	for i := range norms {
		norms[i] = v[i*len(layers) : (i+1)*len(layers)]
	}
	return norms, nil
}

// Layers returns the columns of some layers, side by side: [n, Σ Size].
func (m *Matrix) Layers(layers ...Layer) *Matrix {
	if err := m.fitLayers(layers); err != nil {
		return &Matrix{err: err}
	}
	var parts []*Matrix
	for _, l := range layers {
		for _, r := range l.Ranges {
			parts = append(parts, m.Columns(r[0], r[1]))
		}
	}
	return JoinColumns(parts...)
}

func (m *Matrix) fitLayers(layers []Layer) error {
	if err := m.Err(); err != nil {
		return err
	}
	if len(layers) == 0 {
		return fault.Invalid("layers", "none", "at least one, such as Task.Layers")
	}
	for _, l := range layers {
		if len(l.Ranges) == 0 || l.Ranges[len(l.Ranges)-1][1] > m.cols {
			return fault.Invalid("layers", fmt.Sprintf("%q", l.Name), fmt.Sprintf("one of models with %d parameters: see Task.Layers", m.cols))
		}
	}
	return nil
}

// cut returns some ranges of columns.
func cut(rows *graph.Node, ranges [][2]int) *graph.Node {
	var parts []*graph.Node
	for _, r := range ranges {
		parts = append(parts, graph.Slice(rows, graph.AxisRange(), graph.AxisRange(r[0], r[1])))
	}
	return graph.Concatenate(parts, 1)
}

// layerNorms are the programs of NormsBy, by the layers' ranges.
var layerNorms = lru.New[string, *rowwise](64)
