package strategy

import (
	"cmp"
	"fmt"
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

// AdaptiveMu is the proximal weight of a client with the given drifts in its past rounds, oldest first. It exceeds the base μ
// after a larger drift than usual, and grows with the number of local epochs E,
//
//	μ_i  = clamp( μ · div_i/(hist_i + ε) · (1 + 0.1 (E − 1)), low, high ),  ε = 1e-8
//	hist_i ← a div_i + (1 − a) hist_i                                       after μ_i is computed
//
// where a is the smoothing, 1 for the last drift alone, and div_i = ‖w_i − x‖₂ in its last round. hist_i starts at the first drift;
// before that μ_i is clamp(μ (1 + 0.1 (E − 1)), low, high). Drifts are in the history of every run (Round.Past), so none of this is state. With Local.Steps, E is 0 and
// counts as 1.
func AdaptiveMu(mu, low, high, smoothing float64, epochs int, drift []float64) float64 {
	const perEpoch, epsilon = 0.1, 1e-8
	if last := len(drift) - 1; last >= 0 {
		history := drift[0]
		for _, div := range drift[1:max(1, last)] {
			history = smoothing*div + (1-smoothing)*history
		}
		mu *= drift[last] / (history + epsilon)
	}
	mu *= 1 + perEpoch*float64(max(1, epochs)-1)
	return max(low, min(high, mu))
}

// adaptiveMus returns AdaptiveMu of each client of a cohort.
func adaptiveMus(r *fedkit.Round, S []int, mu, low, high, smoothing float64, local fedkit.Local) []float64 {
	mus := make([]float64, len(S))
	for i, c := range S {
		mus[i] = AdaptiveMu(mu, low, high, smoothing, local.WithDefaults().Epochs, drifts(r.Past(c)))
	}
	return mus
}

// checkMu refuses a second μ in the local solver, and bounds without a number between them.
func checkMu(local fedkit.Local, low, high float64) error {
	if local.Prox != 0 {
		return fedkit.Invalid("Local.Prox", local.Prox, "0: FedProx takes its μ from Mu")
	}
	if low > high {
		return fedkit.Invalid("MuMin", low, fmt.Sprintf("at most %v, which is MuMax", high))
	}
	return nil
}

func drifts(past []fedkit.ClientResult) []float64 {
	drift := make([]float64, len(past))
	for i, s := range past {
		drift[i] = float64(s.Drift)
	}
	return drift
}
