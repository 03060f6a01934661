package fedkit

import (
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Matrix is a float32 matrix [n, d] that lives on the device: each row is a model, an update, a control variate. It
// never changes; operations give new ones. An operation that fails gives a Matrix whose Err is set, as do all
// operations on it, so that a formula can be written in one line and checked once. Round reports the error of a matrix it is
// given, with the line of the strategy that made the mistake.
type Matrix = rows.Matrix

// Program is a GoMLX graph function, compiled once for each combination of argument shapes and kept: the way to write
// server mathematics. Make it once: as a package-level variable or, if it depends on a strategy's options, in a field of its own that
// is set when it is nil.
type Program = xla.Program

// NewProgram returns the program that build describes; nothing is compiled before it is first applied.
func NewProgram(name string, build func(args []*graph.Node) *graph.Node) *Program {
	return rows.NewProgram(name, build)
}

// NewMatrix puts n·d values, row after row, on the device.
func NewMatrix(values []float32, n, d int) *Matrix { return rows.NewMatrix(values, n, d) }

// Zeros returns a matrix [n, d] of zeros.
func Zeros(n, d int) *Matrix { return rows.Zeros(n, d) }

// Failed returns a matrix whose Err is err: what a part returns if it cannot do its work.
func Failed(err error) *Matrix { return rows.Failed(err) }

// StackRows stacks matrices that have the same d.
func StackRows(ms ...*Matrix) *Matrix { return rows.StackRows(ms...) }

// JoinColumns puts matrices side by side: [n, Σd]. Those with a single row repeat it.
func JoinColumns(ms ...*Matrix) *Matrix { return rows.JoinColumns(ms...) }

// sequence returns 0, 1, …, n−1.
var sequence = rows.Sequence
