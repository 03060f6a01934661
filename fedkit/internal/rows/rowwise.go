package rows

import (
	"cmp"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// rowwise computes c numbers per row of a matrix, from the row alone and further arguments: for remote rows, only these numbers
// travel back.
type rowwise struct {
	of   *xla.Program // of rows
	less *xla.Program // of rows minus one row, the second argument
}

// newRowwise returns the programs of f, rows [n, d] → [n, c].
func newRowwise(name string, f func(rows *graph.Node, more []*graph.Node) *graph.Node) *rowwise {
	return &rowwise{
		NewProgram(name, func(a []*graph.Node) *graph.Node { return f(a[0], a[1:]) }),
		NewProgram(name+" less", func(a []*graph.Node) *graph.Node {
			return f(graph.Sub(a[0], graph.BroadcastToDims(a[1], a[0].Shape().Dimensions...)), a[2:])
		})}
}

// Cosines returns the cosine similarity of every row of m to the single row of to, [n].
func Cosines(m, to *Matrix) ([]float64, error) { return m.byRow(cosines, to) }

// byRow returns the numbers, row after row. Pieces are queried one by one.
func (m *Matrix) byRow(w *rowwise, more ...any) ([]float64, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	p, program := m.pieces, w.of
	args := more
	if d := m.difference; d != nil && d.start.rows == 1 {
		p, program, args = d.models.pieces, w.less, append([]any{d.start}, more...)
	}
	if p != nil {
		if numbers, ok, err := p.byRow(program, args); ok {
			return numbers, err
		}
	}
	all, err := m.whole().host(w.of, more...)
	return all[:len(all)/m.room()*m.rows], err
}

// byRow queries each piece; ok is false if they are joined already.
func (p *pieces) byRow(program *xla.Program, args []any) (numbers []float64, ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil || p.shared {
		return nil, false, nil
	}
	var all [][]float64 // by row of the pieces
	p.each(func(_ int, piece engine.Value) *Matrix { return runAt(piece, program, append([]any(nil), args...)...) }, func(_ int, m *Matrix) {
		some, e := m.Host()
		err = cmp.Or(err, e)
		for i := range m.Rows() {
			all = append(all, precision.Double(some[i*m.cols:(i+1)*m.cols]))
		}
	})
	if err != nil {
		return nil, true, err
	}
	for _, at := range p.place {
		numbers = append(numbers, all[at]...)
	}
	return numbers, true, nil
}

var (
	// norms are the Euclidean norms of rows.
	norms = newRowwise("norms", func(rows *graph.Node, _ []*graph.Node) *graph.Node {
		return graph.InsertAxes(lengths(rows), -1)
	})
	// inner are the inner products of rows with those of a matrix [k, d].
	inner = newRowwise("inner", func(rows *graph.Node, with []*graph.Node) *graph.Node {
		return graph.DotGeneral(rows, []int{1}, nil, with[0], []int{1}, nil)
	})
	// cosines are the cosine similarities of rows to one row [1, d]; 0 if either is zero.
	cosines = newRowwise("cosines", func(rows *graph.Node, with []*graph.Node) *graph.Node {
		product := graph.ReduceSum(graph.Mul(rows, with[0]), 1)
		both := graph.Mul(lengths(rows), lengths(with[0]))
		tiny := graph.Scalar(both.Graph(), both.DType(), 1e-30)
		return graph.InsertAxes(graph.Div(product, graph.Max(both, tiny)), -1)
	})
)

// lengths is the Euclidean norm of every row.
func lengths(m *graph.Node) *graph.Node { return graph.Sqrt(graph.ReduceSum(graph.Square(m), 1)) }
