package strategy

import "fedkit.example/fedkit"

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
