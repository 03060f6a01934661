// Package rows has matrices on the device whose rows are models: fedkit.Matrix, and functions on it for fedkit alone.
package rows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"
)

// Matrix is a float32 matrix [n, d] that lives on the device: each row is a model, an update, a control variate. It is immutable;
// operations return new ones. An operation that fails gives a Matrix whose Err is set, as do all operations on it, so that a
// formula can be written in one line and checked once. Round reports the error of a matrix it is given, with the line of the
// strategy that made the mistake.
type Matrix struct {
	rows, cols int
	padded     int             // rows on the device, padding included; 0 if there is none
	t          *tensors.Tensor // may have padding
	pieces     *pieces         // instead of t
	difference *difference     // instead of t
	taken      *taken          // instead of t
	err        error
}

// Tensor returns the matrix as one tensor, without padding.
func Tensor(m *Matrix) (*tensors.Tensor, error) {
	t, err := m.paddedTensor()
	if err != nil || t.Shape().Dimensions[0] == m.rows {
		return t, err
	}
	out, err := run(takeRows, []any{t, engine.Sequence(m.rows)})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// NewProgram returns the program that build describes, with one result or several; nothing is compiled before it is first applied.
func NewProgram[R *graph.Node | []*graph.Node](name string, build func(args []*graph.Node) R) *xla.Program {
	return xla.NewProgram(name, func(args []*graph.Node) []*graph.Node {
		switch out := any(build(args)).(type) {
		case *graph.Node:
			return []*graph.Node{out}
		case []*graph.Node:
			return out
		}
		return nil
	})
}

// NewMatrix puts n·d values, row after row, on the device.
func NewMatrix(values []float32, n, d int) *Matrix {
	if n < 1 || d < 1 || len(values) != n*d {
		return failed("NewMatrix: %d values do not fill a matrix [%d, %d]", len(values), n, d)
	}
	t, err := xla.Upload(values, n, d)
	return &Matrix{rows: n, cols: d, t: t, err: fault.Located(err)}
}

// Failed returns a matrix whose Err is err: the result of a component that fails.
func Failed(err error) *Matrix { return &Matrix{err: err} }

func failed(format string, a ...any) *Matrix {
	return &Matrix{err: fault.Located(fmt.Errorf("%w: "+format, append([]any{fault.ErrInvalid}, a...)...))}
}

// refuse returns a matrix that failed: with the error of m if it has one, which came first.
func (m *Matrix) refuse(format string, a ...any) *Matrix {
	if err := m.Err(); err != nil {
		return &Matrix{err: err}
	}
	return failed(format, a...)
}

func fromTensor(t *tensors.Tensor) *Matrix {
	dims := t.Shape().Dimensions
	return &Matrix{rows: dims[0], cols: dims[1], padded: dims[0], t: t}
}

// Rows returns n, 0 for a matrix that failed.
func (m *Matrix) Rows() int { return cmp.Or(m, none).rows }

// Cols returns d, 0 for a matrix that failed.
func (m *Matrix) Cols() int { return cmp.Or(m, none).cols }

// none stands for a matrix that is nil.
var none = new(Matrix)

// Err returns the error of the operations that led to m, or nil.
func (m *Matrix) Err() error {
	if m == nil {
		return fault.Located(fmt.Errorf("%w: the matrix is nil", fault.ErrInvalid))
	}
	if m.err == nil && m.rows == 0 {
		return fault.Located(fmt.Errorf("%w: the matrix is a new(fedkit.Matrix) without values", fault.ErrInvalid))
	}
	return m.err
}

// String returns what m is: "a matrix [20, 650]".
func (m *Matrix) String() string {
	if err := m.Err(); err != nil {
		return "a matrix that failed: " + err.Error()
	}
	return fmt.Sprintf("a matrix [%d, %d]", m.rows, m.cols)
}

// Apply runs a program on m and further arguments (matrices, []float32 or []float64 vectors, numbers); its one result
// must be a matrix. Numbers and vectors reach the program as float32 parameters, so new values do not recompile.
func (m *Matrix) Apply(p *xla.Program, args ...any) *Matrix { return m.ApplyN(1, p, args...)[0] }

// ApplyN is Apply for a program with n results, which are all matrices.
func (m *Matrix) ApplyN(n int, p *xla.Program, args ...any) []*Matrix {
	all := func(bad *Matrix) []*Matrix { return slices.Repeat([]*Matrix{bad}, min(max(n, 1), 1000)) }
	if p == nil {
		return all(failed("Matrix.Apply: the program is nil"))
	}
	args = append([]any{m}, args...)
	rows, capacity := align(p, args)
	out, err := run(p, args)
	switch {
	case err != nil:
		return all(&Matrix{err: err})
	case len(out) != n:
		return all(failed("%v returned %d results: want %d, as ApplyN(%d, …) takes", p, len(out), n, len(out)))
	}
	ms := make([]*Matrix, n)
	for i, t := range out {
		s := t.Shape()
		switch {
		case s.Rank() != 2 || s.DType != dtypes.Float32 || s.Size() == 0:
			return all(failed("%v returned %v: want (Float32)[n, d]", p, s))
		case rows > 0 && s.Dimensions[0] != capacity:
			return all(failed("%v is row-wise and returned %v for %d rows: want a row for each", p, s, capacity))
		}
		if ms[i] = fromTensor(t); rows > 0 {
			ms[i].rows = rows
		}
	}
	return ms
}

func run(p *xla.Program, args []any) ([]*tensors.Tensor, error) {
	if err := forProgram(args); err != nil {
		return nil, err
	}
	out, err := p.Call(args...)
	return out, fault.Located(err)
}

// forProgram converts arguments, in place, to those that programs take.
func forProgram(args []any) error {
	for i, a := range args {
		switch a := a.(type) {
		case nil:
			return fault.Located(fmt.Errorf("%w: argument %d is nil", fault.ErrInvalid, i))
		case *Matrix:
			t, err := Tensor(a)
			if err != nil {
				return err
			}
			args[i] = t
		case float64:
			args[i] = float32(a)
		case []float64:
			args[i] = precision.Single(a)
		case []int:
			v := make([]int32, len(a))
			for j, x := range a {
				v[j] = int32(x)
			}
			args[i] = v
		}
	}
	return nil
}

var (
	addRows  = NewProgram("add", func(a []*graph.Node) *graph.Node { return graph.Add(a[0], a[1]) }).RowWise()
	subRows  = NewProgram("sub", func(a []*graph.Node) *graph.Node { return graph.Sub(a[0], a[1]) }).RowWise()
	scale    = NewProgram("scale", func(a []*graph.Node) *graph.Node { return graph.Mul(a[0], a[1]) }).RowWise()
	takeRows = NewProgram("take", func(a []*graph.Node) *graph.Node {
		return graph.Gather(a[0], graph.InsertAxes(a[1], -1))
	})
	putRows = NewProgram("put", func(a []*graph.Node) *graph.Node {
		return graph.ScatterUpdate(a[0], graph.InsertAxes(a[1], -1), a[2], false, true)
	})
	mix  = NewProgram("mix", mixed)
	gram = NewProgram("gram", func(a []*graph.Node) *graph.Node {
		return graph.DotGeneral(a[0], []int{1}, nil, a[0], []int{1}, nil)
	})
	center = NewProgram("center", func(a []*graph.Node) *graph.Node {
		return graph.Sub(a[0], graph.ReduceAndKeep(a[0], graph.ReduceMean, 0))
	})
	stack = NewProgram("stack", func(a []*graph.Node) *graph.Node { return graph.Concatenate(a, 0) })
)

// mixed is R·m for m [n, d] and the k·n weights of R.
func mixed(a []*graph.Node) *graph.Node {
	k := a[1].Shape().Dimensions[0] / a[0].Shape().Dimensions[0]
	return graph.Dot(graph.Reshape(a[1], k, -1), a[0]).MatMul()
}

// fits returns nil if matrices can be added to m and to each other (they have the same shape, or one row), and otherwise a failed
// matrix.
func (m *Matrix) fits(op string, others ...*Matrix) *Matrix {
	all := append([]*Matrix{m}, others...)
	for i, b := range all {
		if err := b.Err(); err != nil {
			return &Matrix{err: err}
		}
		for _, a := range all[:i] {
			if a.cols != b.cols || (a.rows != b.rows && a.rows != 1 && b.rows != 1) {
				return failed("Matrix.%s: [%d, %d] and [%d, %d] do not fit", op, a.rows, a.cols, b.rows, b.cols)
			}
		}
	}
	return nil
}

// with applies a program to matrices that fit.
func (m *Matrix) with(op string, p *xla.Program, others ...*Matrix) *Matrix {
	if bad := m.fits(op, others...); bad != nil {
		return bad
	}
	return m.Apply(p, anys(others)...)
}

// Add returns m + b; one of them may have a single row, which is then added to every row of the other.
func (m *Matrix) Add(b *Matrix) *Matrix { return m.with("Add", addRows, b) }

// Sub returns m − b, with rows as in Add.
func (m *Matrix) Sub(b *Matrix) *Matrix { return m.with("Sub", subRows, b) }

// Scale returns a·m.
func (m *Matrix) Scale(a float64) *Matrix { return m.Apply(scale, a) }

// Take returns the rows with the given indices, in that order: [len(rows), d].
func (m *Matrix) Take(rows ...int) *Matrix {
	if bad := m.checkRows("Take", rows); bad != nil {
		return bad
	}
	if slices.Equal(rows, engine.Sequence(m.rows)) { // without a copy
		return m
	}
	return &Matrix{rows: len(rows), cols: m.cols, taken: &taken{from: m, rows: slices.Clone(rows)}}
}

// Put returns m with the given rows replaced by those of u ([len(rows), d]); rows must differ.
func (m *Matrix) Put(rows []int, u *Matrix) *Matrix {
	if bad := m.checkRows("Put", rows); bad != nil {
		return bad
	}
	if u.Rows() != len(rows) || u.cols != m.cols {
		return u.refuse("Matrix.Put: [%d, %d] does not fill %d rows of %d", u.Rows(), u.Cols(), len(rows), m.cols)
	}
	seen := make(map[int]bool, len(rows))
	for _, r := range rows {
		if seen[r] {
			return failed("Matrix.Put: row %d is named twice", r)
		}
		seen[r] = true
	}
	if err := checkMemory("rows", m.rows, m.cols, 1); err != nil {
		return failed("Matrix.Put: %v", err)
	}
	rows = slices.Clone(rows)
	for i := range u.capacity() - len(rows) { // rows that do not exist are not put
		rows = append(rows, m.rows+i)
	}
	return m.Apply(putRows, rows, u.whole())
}

// CheckCols refuses models that do not have d parameters each.
func CheckCols(m *Matrix, what string, d int) error {
	if err := m.Err(); err != nil {
		return err
	}
	if m.cols != d {
		return fault.Invalid(what, fmt.Sprintf("[%d, %d]", m.rows, m.cols), fmt.Sprintf("[k, %d]", d))
	}
	return nil
}

func (m *Matrix) checkRows(op string, rows []int) *Matrix {
	if len(rows) == 0 {
		return m.refuse("Matrix.%s: no rows named", op)
	}
	for _, r := range rows {
		if r < 0 || r >= m.Rows() {
			return m.refuse("Matrix.%s: row %d of a matrix [%d, %d]", op, r, m.Rows(), m.Cols())
		}
	}
	return nil
}

// Mix returns R·m, the heart of federated learning: R is [k, n] weights, m the clients' rows [n, d], and the result the new
// models [k, d]; or R is [n, k], m the models, and the result the clients' initial models.
func (m *Matrix) Mix(r [][]float64) *Matrix {
	if m.Err() != nil || len(r) == 0 {
		return m.refuse("Matrix.Mix: no weights")
	}
	for i, row := range r {
		if len(row) != m.rows {
			return failed("Matrix.Mix: row %d has %d weights for a matrix [%d, %d]", i, len(row), m.rows, m.cols)
		}
	}
	if m.pieces != nil {
		if sum := m.pieces.mix(r, nil); sum != nil {
			return sum
		}
	}
	if m.difference != nil {
		if sum := m.difference.mix(r); sum != nil {
			return sum
		}
	}
	whole, padding := m.whole(), make([]float64, m.capacity()-m.rows)
	var weights []float64
	for _, row := range r {
		weights = append(append(weights, row...), padding...)
	}
	return whole.Apply(mix, weights)
}

// Mean returns the weighted mean of the rows, [1, d]: Σ weights_i m_i / Σ weights_i. Nil weights are uniform.
func (m *Matrix) Mean(weights []float64) *Matrix {
	if weights == nil {
		weights = slices.Repeat([]float64{1}, m.Rows())
	}
	if len(weights) != m.Rows() {
		return m.refuse("Matrix.Mean: %d weights for %d rows", len(weights), m.Rows())
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return m.refuse("Matrix.Mean: the weights sum to %v", sum)
	}
	r := make([]float64, m.rows)
	for i, w := range weights {
		r[i] = w / sum
	}
	return m.Mix([][]float64{r})
}

// Center returns m with the mean of its rows subtracted from every row.
func (m *Matrix) Center() *Matrix { return m.Apply(center) }

// StackRows stacks matrices that have the same d.
func StackRows(ms ...*Matrix) *Matrix {
	if len(ms) == 0 {
		return failed("StackRows: nothing to stack")
	}
	for _, m := range ms {
		if bad := (&Matrix{rows: 1, cols: ms[0].Cols()}).fits("StackRows", m); bad != nil {
			return bad
		}
	}
	return ms[0].Apply(stack, anys(ms[1:])...)
}

// Norms returns the Euclidean norm of every row, [n].
func (m *Matrix) Norms() ([]float64, error) { return m.byRow(norms) }

// Gram returns the Gram matrix of the rows, m·mᵀ [n, n].
func (m *Matrix) Gram() (*mat.SymDense, error) {
	if err := memory.FitsPairs("rows", m.Rows()); err != nil {
		return nil, err
	}
	g, err := m.host(gram)
	if err != nil {
		return nil, err
	}
	return mat.NewSymDense(m.rows, g), nil
}

func (m *Matrix) host(p *xla.Program, more ...any) ([]float64, error) {
	out, err := run(p, append([]any{m}, more...))
	if err != nil {
		return nil, err
	}
	v, err := xla.Host(out[0])
	xla.Free(out...)
	return precision.Double(v), err
}

// Host copies the values to the host, row after row.
func (m *Matrix) Host() ([]float32, error) {
	t, err := m.paddedTensor()
	if err != nil {
		return nil, err
	}
	v, err := xla.Host(t)
	return v[:min(len(v), m.rows*m.cols)], err
}

// MarshalBinary encodes shape and values, little endian, for a strategy's State in checkpoints.
func (m *Matrix) MarshalBinary() ([]byte, error) {
	v, err := m.Host()
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(m.rows)), uint64(m.cols))
	return binary.Append(b, binary.LittleEndian, v)
}

// UnmarshalBinary decodes what MarshalBinary encoded and puts it on the device.
func (m *Matrix) UnmarshalBinary(b []byte) error {
	if len(b) < 16 {
		return fmt.Errorf("fedkit: a matrix of %d bytes is truncated", len(b))
	}
	n, d := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	b = b[16:]
	if n == 0 || d == 0 || n > uint64(len(b)) || d > uint64(len(b)) || n*d*4 != uint64(len(b)) {
		return fmt.Errorf("fedkit: %d bytes do not hold a matrix [%d, %d]", len(b), n, d)
	}
	v := make([]float32, n*d)
	if _, err := binary.Decode(b, binary.LittleEndian, v); err != nil {
		return err
	}
	*m = *NewMatrix(v, int(n), int(d))
	return m.err
}
