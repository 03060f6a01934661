package strategy

import "fedkit.example/fedkit"

// FedMiddleAvg moves x halfway to FedAvg's mean,
//
//	x ← (x_avg + x)/2,  x_avg = Σ_{i∈S} (n_i/N) w_i.
//
// x is [1, d]. Identity: FedOpt with server.SGD and η = 1/2.
type FedMiddleAvg struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // local solver: E epochs, B examples per batch, η
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Weighting  Weighting         // of x_avg; default ByExamples
	State
}

// Round implements fedkit.Strategy.
func (s *FedMiddleAvg) Round(r *fedkit.Round) error {
	u := s.train(r, s.Selector, s.Fraction, s.Local)
	s.X = combine(r, u, s.Aggregator, s.Weighting).Add(s.X).Scale(0.5)
	return r.Err()
}
