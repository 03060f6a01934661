package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// FedAdam is FedAvg with Adam on the server (Reddi et al., arXiv 2003.00295, Algorithm 2),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,
//	x ← x + η m̂/√(v̂ + ε),  m̂ = m/(1−β1^t),  v̂ = v/(1−β2^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ².
type FedAdam struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // E, B, η of the clients
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples; the paper's Algorithm 2 has Equal
	Server     server.Adam       // η, β1, β2 and ε of the server
	State
}

// Round implements fedkit.Strategy.
func (s *FedAdam) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local})
	return s.step(r, s.Server, combine(r, u, s.Aggregator, s.Weighting))
}
