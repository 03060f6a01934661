package rows

import (
	"fmt"

	"fedkit.example/fedkit/internal/memory"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// Zeros returns a matrix [n, d] of zeros.
func Zeros(n, d int) *Matrix {
	if n < 1 || d < 1 {
		return failed("Zeros: [%d, %d] is no shape of a matrix", n, d)
	}
	if err := memory.Fits("d", d, float64(d), 4*float64(n)*float64(d), fmt.Sprintf("%d rows of %d", n, d)); err != nil {
		return failed("Zeros: %v", err)
	}
	return NewMatrix(make([]float32, d), 1, d).Repeat(n)
}

// Repeat returns the single row of m n times, [n, d].
func (m *Matrix) Repeat(n int) *Matrix {
	if m.Rows() != 1 || n < 1 {
		return m.refuse("Matrix.Repeat: a matrix [%d, %d], %d times: want one row, at least once", m.Rows(), m.Cols(), n)
	}
	if err := checkMemory("n", n, m.cols, 1); err != nil {
		return failed("Matrix.Repeat: %v", err)
	}
	return m.Apply(takeRows, make([]int, n))
}

// checkMemory refuses copies of n rows for which there is no memory.
func checkMemory(field string, n, cols, copies int) error {
	return memory.Fits(field, n, float64(n), 4*float64(copies)*float64(n)*float64(cols), fmt.Sprintf("%d rows of %d", n, cols))
}

// Mul returns the elementwise product of m and b, with rows as in Add. A mask of ones and zeros keeps or zeroes values.
func (m *Matrix) Mul(b *Matrix) *Matrix { return m.with("Mul", mulRows, b) }

// Not returns 1 − m: the complement of a mask.
func (m *Matrix) Not() *Matrix { return m.Apply(not) }

// Blend returns the values of m where the mask is not 0, and those of b elsewhere. Each of the three may have a single row,
// which then stands for all.
func (m *Matrix) Blend(b, mask *Matrix) *Matrix { return m.with("Blend", blend, b, mask) }

// ScaleRows returns m with row i multiplied by by[i].
func (m *Matrix) ScaleRows(by []float64) *Matrix {
	if len(by) != m.Rows() {
		return m.refuse("Matrix.ScaleRows: %d numbers for %d rows", len(by), m.Rows())
	}
	return m.Apply(scaleRows, by)
}

// Columns returns the columns from, …, to−1: [n, to−from].
func (m *Matrix) Columns(from, to int) *Matrix {
	if from < 0 || from >= to || to > m.Cols() {
		return m.refuse("Matrix.Columns: %d to %d of a matrix [%d, %d]", from, to, m.Rows(), m.Cols())
	}
	return m.Apply(columns.Of([2]int{from, to}))
}

// JoinColumns puts matrices side by side: [n, Σd]. Those with a single row repeat it.
func JoinColumns(ms ...*Matrix) *Matrix {
	if len(ms) == 0 {
		return failed("JoinColumns: nothing to join")
	}
	n := 1
	for _, m := range ms {
		if err := m.Err(); err != nil {
			return &Matrix{err: err}
		}
		n = max(n, m.rows)
	}
	for _, m := range ms {
		if m.rows != 1 && m.rows != n {
			return failed("JoinColumns: %d rows beside %d", m.rows, n)
		}
	}
	return ms[0].Apply(join, anys(ms[1:])...)
}

// Inner returns the inner products of the rows of m and those of b, m·bᵀ [n, k], on the host.
func (m *Matrix) Inner(b *Matrix) (*mat.Dense, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	if err := CheckCols(b, "Matrix.Inner", m.cols); err != nil {
		return nil, err
	}
	v, err := m.byRow(inner, b)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(m.rows, b.rows, v), nil
}

var (
	columns = NewPrograms("columns", func(of [2]int, a []*graph.Node) *graph.Node {
		return graph.Slice(a[0], graph.AxisRange(), graph.AxisRange(of[0], of[1]))
	}).RowWise()
	mulRows = NewProgram("mul", func(a []*graph.Node) *graph.Node { return graph.Mul(a[0], a[1]) }).RowWise()
	not     = NewProgram("not", func(a []*graph.Node) *graph.Node { return graph.OneMinus(a[0]) }).RowWise()
	blend   = NewProgram("blend", func(a []*graph.Node) *graph.Node {
		a = sameRows(a)
		return graph.Where(graph.NotEqual(a[2], graph.ZerosLike(a[2])), a[0], a[1])
	}).RowWise()
	scaleRows = NewProgram("scale rows", func(a []*graph.Node) *graph.Node {
		return graph.Mul(a[0], graph.InsertAxes(a[1], -1))
	}).RowWise()
	join = NewProgram("join", func(a []*graph.Node) *graph.Node { return graph.Concatenate(sameRows(a), 1) }).RowWise()
)

// sameRows broadcasts single rows to the number of rows of the others.
func sameRows(a []*graph.Node) []*graph.Node {
	n := 1
	for _, m := range a {
		n = max(n, m.Shape().Dim(0))
	}
	for i, m := range a {
		a[i] = graph.BroadcastToDims(m, n, m.Shape().Dim(1))
	}
	return a
}
