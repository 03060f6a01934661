package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// State is the state of an algorithm with one global model x. An algorithm that embeds it starts from a fresh x and serves x to
// every client. It only has to add its options and a Round.
type State struct {
	X      *fedkit.Matrix   // x, [1, d]
	Memory []*fedkit.Matrix // state of the server optimizer, if any
}

// Start draws x and clears the server optimizer's state.
func (s *State) Start(r *fedkit.Round) error {
	s.X, s.Memory = r.Models(1), nil
	return r.Err()
}

// Serve gives every client x.
func (s *State) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.X} }

// step moves x by the server optimizer's step for Δ = to − x.
func (s *State) step(r *fedkit.Round, optimizer fedkit.ServerOptimizer, to *fedkit.Matrix) error {
	return s.stepBy(r, optimizer, to.Sub(s.X))
}

// stepBy moves x by the server optimizer's step for Δ.
func (s *State) stepBy(r *fedkit.Round, optimizer fedkit.ServerOptimizer, delta *fedkit.Matrix) error {
	step, memory := optimizer.Step(delta, s.Memory, r.T)
	s.X, s.Memory = s.X.Add(step), memory
	return r.Err()
}

// combine aggregates the clients' models; the default is their mean, weighted by examples.
func combine(r *fedkit.Round, u *fedkit.Updates, a fedkit.Aggregator, by Weighting) *fedkit.Matrix {
	return cmp.Or[fedkit.Aggregator](a, aggregate.Mean{}).Aggregate(u.Models, Weights(r, u, by, ByExamples{}))
}
