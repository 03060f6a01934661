// Package strategy has the algorithms of federated learning, one a file. Each is a fedkit.Strategy: it says who trains,
// from where, towards what, and how the results are mixed, and nothing else.
package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// FedAvg is federated averaging (McMahan et al., arXiv 1602.05629, Algorithm 1; seeds 000 and 001 §1): in each round a
// share C of the clients trains from the global model x, and the new x is the mean of their models w_i, weighted by their
// numbers of examples n_i,
//
//	x ← Σ_{i∈S} (n_i/N) w_i,  N = Σ_{i∈S} n_i.
//
// x is [1, d]. Identity: with one client it is plain SGD. With Local.Prox = μ > 0 it is FedProx.
type FedAvg struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // who; default uniformly at random
	Local      fedkit.Local      // E, B, η
	Aggregator fedkit.Aggregator // default aggregate.Mean
	State      struct{ X *fedkit.Matrix }
}

// Check implements fedkit.Checker.
func (s *FedAvg) Check() error { return checkParts(s.Fraction, s.Local, s.Selector, s.Aggregator) }

// CheckFor implements fedkit.FederationChecker.
func (s *FedAvg) CheckFor(fed *fedkit.Federation) error {
	return checkCohort(fed, s.Fraction, s.Aggregator)
}

// Start draws x.
func (s *FedAvg) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedAvg) Round(r *fedkit.Round) error {
	aggregator := cmp.Or[fedkit.Aggregator](s.Aggregator, aggregate.Mean{})
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local})
	s.State.X = aggregator.Aggregate(u.Models, u.Examples())
	return r.Err()
}

// Serve gives every client x.
func (s *FedAvg) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
