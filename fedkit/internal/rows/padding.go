package rows

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
)

// A matrix of a cohort that varies in size is padded to the largest one: its tensor has more rows, whose values are finite and mean
// nothing. Row-wise programs run on all of them, so that they are compiled once; any other program gets only the matrix's own.

// capacity returns the number of rows on the device, padding included.
func (m *Matrix) capacity() int { return max(m.Rows(), cmp.Or(m, none).padded) }

// paddedTensor returns the matrix as one tensor, with its padding.
func (m *Matrix) paddedTensor() (*tensors.Tensor, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	switch {
	case m.pieces != nil:
		return m.pieces.materialize()
	case m.difference != nil:
		return m.difference.subtract()
	case m.taken != nil:
		return m.taken.materialize()
	}
	return m.t, nil
}

// whole returns the matrix of all rows on the device.
func (m *Matrix) whole() *Matrix {
	if m.capacity() == m.Rows() {
		return m
	}
	t, err := m.paddedTensor()
	if err != nil {
		return &Matrix{err: err}
	}
	return fromTensor(t)
}

// TensorFor returns the matrix as one tensor. If it has a row for each of n clients, it is padded to the greatest number of them, so
// that what takes it is compiled once.
func TensorFor(m *Matrix, n, most int) (*tensors.Tensor, error) {
	if m.Err() == nil && m.taken != nil && m.rows < n { // a cohort of one gets it as a cohort of several did
		m.taken.forAll.Store(true)
	}
	if m.Err() == nil && m.rows == n && n < most {
		switch {
		case m.taken.byClient():
			return Tensor(m.taken.padTo(most))
		case m.capacity() == most:
			return m.paddedTensor()
		case n > 1:
			return Tensor((&taken{from: m, rows: engine.Sequence(n)}).padTo(most))
		}
	}
	return Tensor(m)
}

// align makes the arguments of a row-wise program, in place, those for all rows on the device, and returns how many of the rows that it
// computes count: 0 for all. Other programs get the rows that count, and so do row-wise ones of matrices with different padding.
func align(p *xla.Program, args []any) (rows, capacity int) {
	for _, a := range args {
		if m, is := a.(*Matrix); is && p.IsRowWise() && m.capacity() > m.Rows() {
			rows, capacity = m.rows, m.capacity()
		}
	}
	if rows == 0 {
		return 0, 0
	}
	for _, a := range args {
		if m, is := a.(*Matrix); is && !(m.Rows() == rows && (m.capacity() == capacity || m.taken != nil)) && m.capacity() != 1 {
			return 0, 0
		}
	}
	for i, a := range args {
		switch a := a.(type) {
		case *Matrix:
			if a.capacity() == capacity {
				args[i] = a.whole()
			} else if a.taken.byClient() && a.Rows() == rows {
				args[i] = a.taken.padTo(capacity)
			}
		case []float64:
			args[i] = padded(a, rows, capacity)
		case []float32:
			args[i] = padded(a, rows, capacity)
		case []int:
			args[i] = padded(a, rows, capacity)
		}
	}
	return rows, capacity
}

// padded returns one value per row, for all rows on the device.
func padded[T any](values []T, rows, capacity int) []T {
	if len(values) != rows {
		return values
	}
	return append(slices.Clip(values), make([]T, capacity-rows)...)
}

// taken are rows of a matrix, gathered when they are used: with as much padding as what they are used with.
type taken struct {
	mu   sync.Mutex
	from *Matrix // nil once they are gathered
	rows []int
	t    *tensors.Tensor
	err  error

	forAll atomic.Bool // a single row that several clients have used
}

// byClient reports whether there may be a row for each client.
func (k *taken) byClient() bool { return k != nil && !k.forAll.Load() }

// materialize returns the rows as one tensor.
func (k *taken) materialize() (*tensors.Tensor, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.from != nil {
		k.t, k.err = Tensor(k.from.Apply(takeRows, k.rows))
		k.from = nil
	}
	return k.t, k.err
}

// padTo returns the rows and padding, as a matrix.
func (k *taken) padTo(capacity int) *Matrix {
	k.mu.Lock()
	defer k.mu.Unlock()
	from, rows := k.from, slices.Clone(k.rows)
	if from == nil { // gathered already
		from, rows = &Matrix{rows: len(rows), t: k.t, err: k.err}, engine.Sequence(len(rows))
	}
	for len(rows) < capacity {
		rows = append(rows, rows[0])
	}
	return from.Apply(takeRows, rows)
}
