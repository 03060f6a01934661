package fedkit

import (
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Matrix is an immutable float32 matrix [n, d] on the device: each row is a model, an update, a control variate. An operation
// that fails returns a Matrix whose Err is set, as do all operations on it, so that a formula can be written in one line and
// checked once. Round reports the error of a matrix it is given, with the line of the strategy that made the mistake.
type Matrix = rows.Matrix

// Layer is a layer of a model, for Matrix.NormsBy and Matrix.Layers: see Task.Layers.
type Layer = rows.Layer

// Program is a GoMLX graph function for server-side mathematics, compiled once for each combination of argument shapes. Make it
// once: as a package-level variable or, if it depends on a strategy's options, in a field that is set when it is nil.
type Program = xla.Program

// NewProgram returns the program that build describes; it is compiled when it is first applied.
func NewProgram(name string, build func(args []*graph.Node) *graph.Node) *Program {
	return rows.NewProgram(name, build)
}

// NewMatrix puts n·d values, in row-major order, on the device.
func NewMatrix(values []float32, n, d int) *Matrix { return rows.NewMatrix(values, n, d) }

// Zeros returns a matrix [n, d] of zeros.
func Zeros(n, d int) *Matrix { return rows.Zeros(n, d) }

// Failed returns a matrix whose Err is err, for a part to return on failure.
func Failed(err error) *Matrix { return rows.Failed(err) }

// StackRows stacks matrices that have the same d.
func StackRows(ms ...*Matrix) *Matrix { return rows.StackRows(ms...) }

// JoinColumns puts matrices side by side: [n, Σd]. Single rows are broadcast.
func JoinColumns(ms ...*Matrix) *Matrix { return rows.JoinColumns(ms...) }

// sequence returns 0, 1, …, n−1.
var sequence = engine.Sequence
