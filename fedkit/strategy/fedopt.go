package strategy

import "fedkit.example/fedkit"

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
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local})
	return s.step(r, s.Server, combine(r, u, s.Aggregator, s.Weighting))
}
