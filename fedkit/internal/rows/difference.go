package rows

import (
	"slices"
	"sync"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// difference is a lazy subtraction: models in pieces minus their starts. Means are taken piece by piece; any other operation
// subtracts first, once.
type difference struct {
	models, start *Matrix
	subtract      func() (*tensors.Tensor, error) // once
}

// Less returns m − start, [n, d]. It is lazy if m is in pieces, and either start is a single row or both are from FromRows.
func Less(m, start *Matrix) *Matrix {
	if m.Err() != nil || start.Err() != nil {
		return m.Sub(start)
	}
	p := m.pieces
	if p == nil || start.taken != nil && m.capacity() > m.rows || start.rows != 1 && !(p.shared && start.pieces != nil && start.pieces.shared) {
		return m.Sub(start)
	}
	if bad := m.fits("Sub", start); bad != nil {
		return bad
	}
	subtract := sync.OnceValues(func() (*tensors.Tensor, error) { return m.Sub(start).paddedTensor() })
	less := &Matrix{rows: m.rows, cols: m.cols, difference: &difference{m, start, subtract}}
	if start.rows == 1 {
		less.padded = m.padded
	}
	return less
}

// mix sums the contributions of the pieces; nil if the pieces are joined already.
func (d *difference) mix(r [][]float64) *Matrix {
	p := d.models.pieces
	if !p.shared {
		return p.mix(r, d.start)
	}
	start := slices.Repeat([]any{d.start}, d.models.rows)
	if own := d.start.pieces; d.start.rows > 1 {
		own.mu.Lock()
		defer own.mu.Unlock()
		if own.values == nil {
			return nil
		}
		ts, err := own.fetch()
		if err != nil {
			return &Matrix{err: err}
		}
		start = anys(ts)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil {
		return nil
	}
	return p.mixRows(r, start)
}

var (
	// mixLess mixes rows minus one row.
	mixLess = NewProgram("mix less", func(a []*graph.Node) *graph.Node {
		return mixed([]*graph.Node{graph.Sub(a[0], graph.BroadcastToDims(a[2], a[0].Shape().Dimensions...)), a[1]})
	})
	// mixRowsLess mixes rows, each minus its own start; the starts follow the rows.
	mixRowsLess = NewProgram("mix rows less", func(a []*graph.Node) *graph.Node {
		n := len(a) / 2
		rows := make([]*graph.Node, n)
		for i := range rows {
			rows[i] = graph.Sub(a[i], a[n+i])
		}
		return mixedRows(rows, a[2*n])
	})
)
