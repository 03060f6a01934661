package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// FedMedian is FedAvg with the coordinate-wise median instead of the mean (Yin et al., arXiv 1803.01498, Algorithm 1,
// option I, with local training instead of one gradient),
//
//	x[j] ← median_{i∈S} w_i[j],
//
// so that fewer than half of the clients cannot move x at will. x is [1, d]. Identity: with one client it is FedAvg.
type FedMedian struct {
	Fraction float64         // C, share of the clients in a round, in (0, 1]; default all
	Selector fedkit.Selector // chooses the cohort; default uniformly at random
	Local    fedkit.Local    // local solver: E epochs, B examples per batch, η
	State
}

// Round implements fedkit.Strategy.
func (s *FedMedian) Round(r *fedkit.Round) error {
	u := s.train(r, s.Selector, s.Fraction, s.Local)
	s.X = aggregate.Median{}.Aggregate(u.Models, nil)
	return r.Err()
}
