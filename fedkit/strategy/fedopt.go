package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// FedOpt is adaptive federated optimization (Reddi et al., arXiv 2003.00295, Algorithm 1): the clients train as in FedAvg,
// and the server's optimizer treats their combined update as a negative gradient,
//
//	Δ = aggregate{w_i : i∈S} − x,  x ← x + step(Δ).
//
// x is [1, d]. FedAvgM, FedAdagrad, FedAdam and FedYogi are FedOpt with one optimizer of package server; every selector,
// aggregator and local solver works with each of them.
//
// An aggregator works on the models w_i, as in FedAvg, so that FedOpt with server.SGD and η = 1 is FedAvg with the same
// aggregator. For the mean, the median, the trimmed mean, Krum and the geometric median, aggregating the updates w_i − x
// would be the same: shifting all rows shifts the result.
type FedOpt struct {
	Fraction   float64                // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector        // chooses the cohort; default uniformly at random
	Local      fedkit.Local           // E, B, η of the clients
	Aggregator fedkit.Aggregator      // default aggregate.Mean
	Weighting  Weighting              // default ByExamples; the paper's Algorithm 1 has Equal
	Server     fedkit.ServerOptimizer // how x steps along the mean update; required
	State
}

// Check implements fedkit.Checker.
func (s *FedOpt) Check(*fedkit.Federation, int) error {
	if s.Server == nil {
		return fedkit.Invalid("Server", "nil", "a server optimizer, such as server.Adam{}")
	}
	return nil
}

// Round implements fedkit.Strategy.
func (s *FedOpt) Round(r *fedkit.Round) error {
	return s.step(r, s.Server, combine(r, s.train(r, s.Selector, s.Fraction, s.Local), s.Aggregator, s.Weighting))
}

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
	return s.step(r, s.Server, combine(r, s.train(r, s.Selector, s.Fraction, s.Local), s.Aggregator, s.Weighting))
}

// FedAdagrad is FedAvg with Adagrad on the server (Reddi et al., arXiv 2003.00295, Algorithm 2),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← v + Δ²,
//	x ← x + η m̂/√(v + ε),  m̂ = m/(1−β1^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ².
type FedAdagrad struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // E, B, η of the clients
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples; the paper's Algorithm 2 has Equal
	Server     server.Adagrad    // η, β1 and ε of the server
	State
}

// Round implements fedkit.Strategy.
func (s *FedAdagrad) Round(r *fedkit.Round) error {
	return s.step(r, s.Server, combine(r, s.train(r, s.Selector, s.Fraction, s.Local), s.Aggregator, s.Weighting))
}

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
	return s.step(r, s.Server, combine(r, s.train(r, s.Selector, s.Fraction, s.Local), s.Aggregator, s.Weighting))
}

// FedYogi is FedAvg with Yogi on the server (Reddi et al., arXiv 2003.00295, Algorithm 2),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← v − (1−β2) sign(v−Δ²)Δ²,
//	x ← x + η m̂/√(v̂ + ε),  m̂ = m/(1−β1^t),  v̂ = v/(1−β2^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ².
type FedYogi struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // E, B, η of the clients
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // default ByExamples; the paper's Algorithm 2 has Equal
	Server     server.Yogi       // η, β1, β2 and ε of the server
	State
}

// Round implements fedkit.Strategy.
func (s *FedYogi) Round(r *fedkit.Round) error {
	return s.step(r, s.Server, combine(r, s.train(r, s.Selector, s.Fraction, s.Local), s.Aggregator, s.Weighting))
}
