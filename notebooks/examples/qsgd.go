package examples

import (
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	. "github.com/gomlx/gomlx/core/graph"
)

// QSGD rounds each value of an update at random to one of s levels of the update's length (Alistarh et al., arXiv 1610.02132, §3.1):
//
//	Q(v)_j = ‖v‖ sign(v_j) ξ_j / s,  ξ_j = ⌊s |v_j|/‖v‖ + U_j⌋,  x ← x + Σ_{i∈S} (n_i/N) Q(Δ_i),
//
// with U_j uniform in [0, 1), so that E[Q(v)] = v. A client sends ⌈log₂(2s + 1)⌉ bits per value. x is [1, d].
type QSGD struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Levels   int          `range:"[1,inf)" default:"127"` // s
	strategy.State
}

// Check implements fedkit.Checker.
func (s *QSGD) Check(fed *fedkit.Federation, _ int) error { return fed.AllTrained("strategy", "QSGD") }

// Round implements fedkit.Strategy.
func (s *QSGD) Round(r *fedkit.Round) error {
	bits := math.Ceil(math.Log2(float64(2*s.Levels + 1)))
	u := r.Train(fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.X, Local: s.Local, Up: bits / 32})
	s.X = s.X.Add(u.Delta().Apply(quantized, r.Uniform("levels", s.X.Cols(), u.Clients()...), s.Levels).Mean(u.Examples()))
	return r.Err()
}

// quantized is Q(v) of rows v [n, d], with U [n, d] and s.
var quantized = fedkit.NewProgram("quantized", func(in []*Node) *Node {
	v, u, s := in[0], in[1], ConvertDType(in[2], in[0].DType())
	length := MaxScalar(Sqrt(ReduceAndKeep(Square(v), ReduceSum, 1)), 1e-30)
	return Div(Mul(Mul(Sign(v), length), Floor(Add(Mul(Div(Abs(v), length), s), u))), s)
}).RowWise()
