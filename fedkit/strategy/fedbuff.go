package strategy

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
)

// FedBuff is buffered asynchronous aggregation (Nguyen et al., arXiv 2106.06639, Algorithm 1): clients are at work on models x_τ of
// different age; as soon as K results are there, the server steps,
//
//	x ← x + η_g (1/K) Σ_i s(t − τ_i) Δ_i,  Δ_i = w_i − x_τi,  s(a) = 1/√(1 + a).
type FedBuff struct {
	AtWork   int             `range:"[1,inf)" default:"10"` // clients at work at a time
	K        int             `range:"[1,inf)" default:"10"` // size of the buffer
	LR       float64         `range:"(0,inf)" default:"1"`  // η_g
	Selector fedkit.Selector // who begins, of those that are idle; default uniformly at random
	Local    fedkit.Local
	State    struct {
		X      *fedkit.Matrix // x, [1, d]
		Flight fedkit.Flight
	}
}

// Check implements fedkit.Checker.
func (s *FedBuff) Check(fed *fedkit.Federation, _ int) error { return nil }

// Start draws the model.
func (s *FedBuff) Start(r *fedkit.Round) error {
	s.State.X, s.State.Flight = r.Models(1), fedkit.Flight{}
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedBuff) Round(r *fedkit.Round) error {
	u := r.Arrive(&s.State.Flight, fedkit.Async{AtWork: cmp.Or(s.AtWork, 10), Take: cmp.Or(s.K, 10), Selector: s.Selector, Job: fedkit.Job{Start: s.State.X, Local: s.Local}})
	w := make([]float64, len(u.Solves))
	for i, solve := range u.Solves {
		w[i] = cmp.Or(s.LR, 1) / float64(len(w)) / math.Sqrt(1+float64(solve.Staleness))
	}
	s.State.X = s.State.X.Add(u.Delta().Mix([][]float64{w}))
	return r.Err()
}

// Serve implements fedkit.Strategy.
func (s *FedBuff) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
