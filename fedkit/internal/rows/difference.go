package rows

import (
	"sync"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// difference is models in pieces, less what they started from. Means of it are taken piece by piece. Anything else subtracts first,
// once.
type difference struct {
	models, start *Matrix

	mu    sync.Mutex
	whole *Matrix
}

// Less returns m − start, [n, d]. It is not computed before it is needed if m is in pieces, and either start is one row, or both are
// rows of their own.
func Less(m, start *Matrix) *Matrix {
	p := m.pieces
	if m.Err() != nil || start.Err() != nil || p == nil || start.rows != 1 && !(p.lent && start.pieces != nil && start.pieces.lent) {
		return m.Sub(start)
	}
	if bad := m.fits("Sub", start); bad != nil {
		return bad
	}
	return &Matrix{rows: m.rows, cols: m.cols, difference: &difference{models: m, start: start}}
}

// together returns the difference in one piece.
func (d *difference) together() (*tensors.Tensor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.whole == nil {
		d.whole = d.models.Sub(d.start)
	}
	return d.whole.tensor()
}

// mix adds up what each piece gives; nil once they are together.
func (d *difference) mix(r [][]float64) *Matrix {
	p := d.models.pieces
	if !p.lent {
		return p.mix(r, d.start)
	}
	start := make([]any, d.models.rows)
	for i := range start {
		start[i] = d.start
	}
	if own := d.start.pieces; d.start.rows > 1 {
		own.mu.Lock()
		defer own.mu.Unlock()
		if own.values == nil {
			return nil
		}
		ts, err := own.here()
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
	// mixLess mixes rows less another one.
	mixLess = NewProgram("mix less", func(a []*graph.Node) *graph.Node {
		return mixed([]*graph.Node{graph.Sub(a[0], graph.BroadcastToDims(a[2], a[0].Shape().Dimensions...)), a[1]})
	})
	// mixRowsLess mixes rows, each less one of its own, which stand behind them.
	mixRowsLess = NewProgram("mix rows less", func(a []*graph.Node) *graph.Node {
		n := len(a) / 2
		rows := make([]*graph.Node, n)
		for i := range rows {
			rows[i] = graph.Sub(a[i], a[n+i])
		}
		return mixedRows(rows, a[2*n])
	})
)
