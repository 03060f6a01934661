package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// FedMedian is FedAvg with the median of every coordinate in place of the mean (seed 001 §8; Yin et al., arXiv
// 1803.01498),
//
//	x[j] ← median_{i∈S} w_i[j],
//
// so that fewer than half of the clients cannot move x at will. It has the fields of FedAvg; an Aggregator that is set
// is used instead. Identity: with one client it is FedAvg.
type FedMedian FedAvg

func (s *FedMedian) fedavg() *FedAvg {
	if s.Aggregator == nil {
		s.Aggregator = aggregate.Median{}
	}
	return (*FedAvg)(s)
}

// Check implements fedkit.Checker.
func (s *FedMedian) Check() error { return s.fedavg().Check() }

// CheckFor implements fedkit.FederationChecker.
func (s *FedMedian) CheckFor(fed *fedkit.Federation) error { return s.fedavg().CheckFor(fed) }

// Start draws x.
func (s *FedMedian) Start(r *fedkit.Round) error { return s.fedavg().Start(r) }

// Round implements fedkit.Strategy.
func (s *FedMedian) Round(r *fedkit.Round) error { return s.fedavg().Round(r) }

// Serve gives every client x.
func (s *FedMedian) Serve(r *fedkit.Round) fedkit.Serving { return s.fedavg().Serve(r) }
