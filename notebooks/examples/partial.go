package examples

import (
	"fmt"

	"fedkit.example/fedkit"
)

// Partial shares all layers but the personal ones, which are trained with them and stay with their clients: the last in FedPer
// (arXiv 1912.00818), the first in LG-FedAvg (arXiv 2001.01523), those of batch normalization in FedBN (arXiv 2102.07623).
//
//	(φ_i, h_i) ← epochs on f_i(φ, h_i)    from the shared φ and the client's own h_i, for i ∈ S
//	φ ← Σ_{i∈S} (n_i/N) φ_i
//
// An unseen client trains the initial h on the fixed φ, ten times as long as in a round. Of X only φ is used,
// of W only h_i. Identities: without personal layers it is FedAvg, and with only personal layers LocalOnly.
type Partial struct {
	Personal []string     // layers, as in Task.Mask: []string{"dense2"}
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	State    struct {
		X, W *fedkit.Matrix // φ in a whole model [1, d], and every client's model after its last round [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *Partial) Check(fed *fedkit.Federation, _ int) error {
	if fed == nil {
		return nil
	}
	if _, err := fed.Task.Mask(s.Personal...); err != nil {
		return fmt.Errorf("option Personal: %w", err)
	}
	return nil
}

// Start draws one model for all.
func (s *Partial) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.W = s.State.X.Repeat(r.Clients())
	return r.Err()
}

// models returns every client's model: the shared layers and its own.
func (s *Partial) models(r *fedkit.Round) *fedkit.Matrix {
	return s.State.W.Blend(s.State.X, r.Mask(s.Personal...))
}

// Round implements fedkit.Strategy.
func (s *Partial) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.models(r).Take(S...), Local: s.Local, Communicated: r.Mask(s.Personal...).Not()})
	s.State.W, s.State.X = s.State.W.Put(u.Clients(), u.Models), u.Models.Mean(u.Examples())
	return r.Err()
}

// Serve gives every client the shared layers with its own.
func (s *Partial) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.models(r), Assign: r.AllClients()}
}

// ServeUnseen gives each unseen client the shared layers with its own.
func (s *Partial) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	own, local := r.Mask(s.Personal...), s.Local.WithDefaults()
	local.Epochs, local.Steps = 10*local.Epochs, 10*local.Steps
	start := r.Models(1).Blend(s.State.X, own)
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: start, Local: local, Mask: own, StayLocal: true})
	return fedkit.Serving{Models: start.Repeat(r.Clients()).Put(u.Clients(), u.Models), Assign: r.AllClients()}
}
