package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// FedProx is federated averaging with a proximal term to the global model (Li et al., arXiv 1812.06127, Algorithm 2):
// client i of S solves
//
//	w_i ≈ argmin_w f_i(w) + (μ_i/2) ‖w − x‖²,  x ← Σ_{i∈S} (n_i/N) w_i,
//
// with the solver and epochs of Local. All μ_i are Mu, unless Adaptive is set: see AdaptiveMu. As in FedOpt, a Server
// can replace the full step from x to the aggregate.
//
// x is [1, d]. Identities: μ = 0 is FedAvg, and a fixed μ is FedAvg with Local.Prox.
type FedProx struct {
	Fraction   float64                // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector        // chooses the cohort; default uniformly at random
	Local      fedkit.Local           // E, B, η; its Prox must stay 0
	Mu         float64                `range:"[0,inf)" default:"0.1"` // μ, weight of the proximal term
	Adaptive   bool                   // take μ_i from AdaptiveMu instead
	MuMin      float64                `range:"[0,inf)" default:"0.001"` // least adaptive μ_i
	MuMax      float64                `range:"(0,inf)" default:"1"`     // greatest adaptive μ_i
	Smoothing  float64                `range:"(0,1]" default:"0.3"`     // a, weight of the newest drift in the past that an adaptive μ_i compares with
	Aggregator fedkit.Aggregator      // default aggregate.Mean
	Weighting  Weighting              // default ByExamples; the paper has Equal, with clients drawn in proportion to n_i
	Server     fedkit.ServerOptimizer // default server.SGD, the full step
	State
}

// Check implements fedkit.Checker.
func (s *FedProx) Check(*fedkit.Federation, int) error { return checkMu(s.Local, s.MuMin, s.MuMax) }

// UsesPast implements fedkit.PastUser.
func (s *FedProx) UsesPast() bool { return s.Adaptive }

// Round implements fedkit.Strategy.
func (s *FedProx) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	mu := slices.Repeat([]float64{s.Mu}, len(S))
	if s.Adaptive {
		mu = adaptiveMus(r, S, s.Mu, s.MuMin, s.MuMax, s.Smoothing, s.Local)
	}
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Pulls: []fedkit.Pull{{To: s.X, Weights: mu}}})
	return s.step(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{}), combine(r, u, s.Aggregator, s.Weighting))
}
