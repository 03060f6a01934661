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
//
//	rows       Rows(), Take(rows…), Put(rows, u), Repeat(n), Mean(weights), Mix(r), Center()
//	columns    Cols(), Columns(from, to), Layers(layers…)
//	values     Add(b), Sub(b), Mul(b), Scale(a), ScaleRows(by), Blend(b, mask), Not()
//	on host    Norms(), NormsBy(layers), Gram(), Inner(b), Points(), Host(), MarshalBinary(), UnmarshalBinary(b)
//	any        Apply(p, args…), ApplyN(n, p, args…); Err(), String()
//
// What they take and return: go doc internal/rows.Matrix
type Matrix = rows.Matrix

// Layer is a layer of a model, for Matrix.NormsBy and Matrix.Layers: see Task.Layers. Fields: go doc internal/rows.Layer
type Layer = rows.Layer

// Program is a GoMLX graph function for server-side mathematics, compiled once for each combination of argument shapes. Make it
// once, as a package-level variable. If it depends on an option, use Programs. Methods: go doc internal/xla.Program
type Program = xla.Program

// NewProgram returns the program that build describes, with one result or several (see Matrix.ApplyN); it is compiled when it is first
// applied.
func NewProgram[R *graph.Node | []*graph.Node](name string, build func(args []*graph.Node) R) *Program {
	return rows.NewProgram(name, build)
}

// Programs are programs that differ in a parameter, such as k of the k largest values: a constant of the graph, where an argument
// would not do. Equal values are one program, whichever strategy asks for it, so a strategy may do so in every round:
//
//	var top = fedkit.NewPrograms("top", func(k int, in []*Node) *Node { return Where(TopKMask(Abs(in[0]), k, 1), in[0], ZerosLike(in[0])) })
//
//	sent := u.Delta().Apply(top.Of(s.K))
//
// Each value is compiled, so it must not change from round to round.
//
// Methods: go doc internal/rows.Programs
type Programs[P comparable] = rows.Programs[P]

// NewPrograms returns the programs that build describes: see NewProgram.
func NewPrograms[P comparable, R *graph.Node | []*graph.Node](name string, build func(parameter P, args []*graph.Node) R) *Programs[P] {
	return rows.NewPrograms(name, build)
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
