package examples

import (
	"fedkit.example/fedkit"
	"github.com/gomlx/gomlx/core/graph"
)

// Sparse sends the k largest values of each update, and keeps the rest for the client's next one: error feedback (Stich et al., arXiv
// 1809.07599, Algorithm 1),
//
//	a_i = Δ_i + e_i,  c_i = top_k(a_i),  e_i ← a_i − c_i,  x ← x + Σ_{i∈S} (n_i/N) c_i.
//
// Values as large as the k-th are sent too. A client sends k values and k positions of four bytes each. X is [1, d] and Error [M, d].
// Identity: with k = d it is FedAvg.
type Sparse struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Keep     float64      `range:"(0,1]" default:"0.01"` // k/d, share of the values that are sent
	State    struct {
		X, Error *fedkit.Matrix // x [1, d] and e_i [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *Sparse) Check(fed *fedkit.Federation, _ int) error {
	return fed.AllTrained("strategy", "Sparse")
}

// Start draws one model for all.
func (s *Sparse) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.Error = fedkit.Zeros(r.Clients(), s.State.X.Cols())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *Sparse) Round(r *fedkit.Round) error {
	d := s.State.X.Cols()
	k := max(1, int(s.Keep*float64(d)))
	u := r.Train(fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.State.X, Local: s.Local, Up: min(1, 2*float64(k)/float64(d))})
	parts := u.Delta().ApplyN(2, largest.Of(k), s.State.Error.Take(u.Clients()...))
	s.State.X = s.State.X.Add(parts[0].Mean(u.Examples()))
	s.State.Error = s.State.Error.Put(u.Clients(), parts[1])
	return r.Err()
}

// largest has two results: the k largest values of Δ + e by row, and the others.
var largest = fedkit.NewPrograms("largest", func(k int, in []*graph.Node) []*graph.Node {
	a := graph.Add(in[0], in[1])
	values, _ := graph.TopK(graph.Abs(a), k, 1)
	least := graph.Slice(values, graph.AxisRange(), graph.AxisRange(k-1, k))
	sent := graph.Where(graph.GreaterOrEqual(graph.Abs(a), least), a, graph.ZerosLike(a))
	return []*graph.Node{sent, graph.Sub(a, sent)}
}).RowWise()

// Serve gives every client x.
func (s *Sparse) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
