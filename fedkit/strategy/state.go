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

// train trains a round's clients from x.
func (s *State) train(r *fedkit.Round, by fedkit.Selector, share float64, local fedkit.Local) *fedkit.Updates {
	return r.Train(fedkit.Job{Clients: r.Select(by, share), Start: s.X, Local: local})
}

// step moves x by the server optimizer's step for Δ = to − x.
func (s *State) step(r *fedkit.Round, optimizer fedkit.ServerOptimizer, to *fedkit.Matrix) error {
	return s.stepBy(r, optimizer, to.Sub(s.X))
}

// stepBy moves x by the server optimizer's step for Δ.
func (s *State) stepBy(r *fedkit.Round, optimizer fedkit.ServerOptimizer, delta *fedkit.Matrix) error {
	step, memory := r.ServerStep(optimizer, delta, s.Memory)
	s.X, s.Memory = s.X.Add(step), memory
	return r.Err()
}

// combine aggregates the clients' models; the default is their mean, weighted by examples.
func combine(r *fedkit.Round, u *fedkit.Updates, a fedkit.Aggregator, by Weighting) *fedkit.Matrix {
	return cmp.Or[fedkit.Aggregator](a, aggregate.Mean{}).Aggregate(u.Models, Weights(r, u, by, ByExamples{}))
}

// Personal has the State of an algorithm with a global model x and a personal model w_i per client. An algorithm that embeds it starts
// all from one fresh model, and serves every client its own.
type Personal struct {
	State struct {
		X *fedkit.Matrix // x, [1, d]
		W *fedkit.Matrix // w_i, [M, d]
	}
}

// Start draws one model for all.
func (s *Personal) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.W = s.State.X.Repeat(r.Clients())
	return r.Err()
}

// Serve gives every client its own model; x is the global one.
func (s *Personal) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.X, Models: s.State.W, Assign: r.AllClients()}
}

// Asynchronous has the State of an algorithm whose clients train on models of different age. An algorithm that embeds it starts from a
// fresh model x, on which nobody is training yet, and serves x to every client.
type Asynchronous struct {
	State struct {
		Global   State           // x and the server optimizer's state
		InFlight fedkit.InFlight // jobs in flight
	}
}

// Start draws x; no client is training.
func (s *Asynchronous) Start(r *fedkit.Round) error {
	s.State.InFlight = fedkit.InFlight{}
	return s.State.Global.Start(r)
}

// Serve gives every client x.
func (s *Asynchronous) Serve(r *fedkit.Round) fedkit.Serving { return s.State.Global.Serve(r) }
