// Package strategy has the algorithms of federated learning, one per file; those that are FedOpt with one optimizer are with it.
// Each is a fedkit.Strategy: it says which clients train, from which model, toward what, and how the results are combined, and
// nothing else. An algorithm is a struct: its options and pluggable parts are fields, and its Round spells out one round.
package strategy

import "fedkit.example/fedkit"

// FedAvg is federated averaging (McMahan et al., arXiv 1602.05629, Algorithm 1): in each round a share C of the clients
// trains from the global model x, and the new x is the mean of their models w_i, weighted by their numbers of examples
// n_i,
//
//	x ← Σ_{i∈S} (n_i/N) w_i,  N = Σ_{i∈S} n_i.
//
// x is [1, d]. Identity: with one client it is plain SGD. With Local.Prox = μ > 0 it is FedProx.
type FedAvg struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // local solver: E epochs, B examples per batch, η
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples, as in the paper; CC-FL compares with Equal (Sun et al., Algorithm 1)
	State
}

// Round implements fedkit.Strategy.
func (s *FedAvg) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local})
	s.X = combine(r, u, s.Aggregator, s.Weighting)
	return r.Err()
}
