package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// FedAvgM is FedAvg with momentum on the server (Hsu et al., arXiv 1909.06335),
//
//	Δ = x_avg − x,  m ← βm + (1−β)Δ,  x ← x + ηm,  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// with the defaults η = 1, β = 0.9. Identity: with β = 0 (fedkit.Zero) and η = 1 it is FedAvg. Hsu et al. use heavy-ball momentum,
// m ← βm + Δ (server.Momentum.HeavyBall), as does the clients' fedkit.Momentum.
type FedAvgM struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // E, B, η of the clients
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples, as in the paper; CC-FL compares with Equal (Sun et al., Algorithm 1)
	Server     server.Momentum   // η and β of the server
	State
}

// Round implements fedkit.Strategy.
func (s *FedAvgM) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local})
	return s.step(r, s.Server, combine(r, u, s.Aggregator, s.Weighting))
}
