package strategy

import (
	"cmp"
	"fmt"

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
func (s *FedProx) Check(*fedkit.Federation, int) error {
	if s.Local.Prox != 0 {
		return fedkit.Invalid("Local.Prox", s.Local.Prox, "0: FedProx takes its μ from Mu")
	}
	if s.MuMin > s.MuMax {
		return fedkit.Invalid("MuMin", s.MuMin, fmt.Sprintf("at most %v, which is MuMax", s.MuMax))
	}
	return nil
}

// UsesPast implements fedkit.PastUser.
func (s *FedProx) UsesPast() bool { return s.Adaptive }

// Round implements fedkit.Strategy.
func (s *FedProx) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	mu := make([]float64, len(S))
	for i, c := range S {
		mu[i] = s.Mu
		if s.Adaptive {
			mu[i] = AdaptiveMu(s.Mu, s.MuMin, s.MuMax, s.Smoothing, s.Local.WithDefaults().Epochs, drifts(r.Past(c)))
		}
	}
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Pulls: []fedkit.Pull{{To: s.X, Weights: mu}}})
	return s.step(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{}), combine(r, u, s.Aggregator, s.Weighting))
}
