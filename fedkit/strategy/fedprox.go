package strategy

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/server"
)

// FedProx is federated averaging whose clients are held near the global model (Li et al., arXiv 1812.06127, Algorithm 2;
// seed 004 §2): client i of S solves
//
//	w_i ≈ argmin_w f_i(w) + (μ_i/2) ‖w − x‖²,  x ← Σ_{i∈S} (n_i/N) w_i,
//
// by the solver and for the epochs of Local. All μ_i are Mu, unless Adaptive: see AdaptiveMu. As in FedOpt, the Server may
// go another step than the whole way from x to what was aggregated.
//
// x is [1, d]. Identities: μ = 0 is FedAvg, and a fixed μ is FedAvg with Local.Prox.
type FedProx struct {
	Fraction   float64                // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector        // who; default uniformly at random
	Local      fedkit.Local           // E, B, η; its Prox must stay 0
	Mu         float64                // μ ≥ 0; default 0.1 (fedkit.Zero for 0)
	Adaptive   bool                   // μ_i by AdaptiveMu instead
	MuMin      float64                // least adaptive μ_i; default 0.001 (fedkit.Zero for 0)
	MuMax      float64                // greatest adaptive μ_i; default 1
	Aggregator fedkit.Aggregator      // default aggregate.Mean
	Server     fedkit.ServerOptimizer // default server.SGD: the whole way
	State      struct {
		X      *fedkit.Matrix
		Memory []*fedkit.Matrix // of the server optimiser
	}
}

// Check implements fedkit.Checker.
func (s *FedProx) Check() error {
	low, high := s.bounds()
	switch {
	case !(s.Mu >= 0) || math.IsInf(s.Mu, 0):
		return fedkit.Invalid("Mu", s.Mu, "> 0, 0 for the default of 0.1, or fedkit.Zero")
	case s.Local.Prox != 0:
		return fedkit.Invalid("Local.Prox", s.Local.Prox, "0: μ of FedProx is Mu")
	case !(s.MuMax >= 0) || math.IsInf(s.MuMax, 0):
		return fedkit.Invalid("MuMax", s.MuMax, "> 0, or 0 for the default of 1")
	case !(s.MuMin >= 0 && low <= high):
		return fedkit.Invalid("MuMin", s.MuMin, "in [0, MuMax] (0 stands for 0.001, fedkit.Zero for 0)")
	}
	return checkParts(s.Fraction, s.Local, s.Selector, s.Aggregator, s.Server)
}

// CheckFor implements fedkit.FederationChecker.
func (s *FedProx) CheckFor(fed *fedkit.Federation) error {
	return checkCohort(fed, s.Fraction, s.Aggregator)
}

func (s *FedProx) bounds() (low, high float64) { return cmp.Or(s.MuMin, 0.001), cmp.Or(s.MuMax, 1) }

// Start draws x.
func (s *FedProx) Start(r *fedkit.Round) error {
	s.State.X, s.State.Memory = r.Models(1), nil
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedProx) Round(r *fedkit.Round) error {
	aggregator := cmp.Or[fedkit.Aggregator](s.Aggregator, aggregate.Mean{})
	optimizer := cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{})
	S := r.Select(s.Selector, s.Fraction)
	mu := make([]float64, len(S))
	for i, c := range S {
		mu[i] = cmp.Or(s.Mu, 0.1)
		if s.Adaptive {
			low, high := s.bounds()
			mu[i] = AdaptiveMu(mu[i], low, high, s.Local.WithDefaults().Epochs, drifts(r.Past(c)))
		}
	}
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local, Prox: mu})
	step, memory := optimizer.Step(aggregator.Aggregate(u.Models, u.Examples()).Sub(s.State.X), s.State.Memory, r.T)
	s.State.X, s.State.Memory = s.State.X.Add(step), memory
	return r.Err()
}

// Serve gives every client x.
func (s *FedProx) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
