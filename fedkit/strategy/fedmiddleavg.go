package strategy

import "fedkit.example/fedkit"

// FedMiddleAvg goes half of the way to where FedAvg would go (seed 001 §3),
//
//	x ← (x_avg + x)/2,  x_avg = Σ_{i∈S} (n_i/N) w_i.
//
// It has the fields of FedAvg. Identity: FedOpt[server.SGD] with η = 1/2.
type FedMiddleAvg FedAvg

func (s *FedMiddleAvg) fedavg() *FedAvg { return (*FedAvg)(s) }

// Check implements fedkit.Checker.
func (s *FedMiddleAvg) Check() error { return s.fedavg().Check() }

// CheckFor implements fedkit.FederationChecker.
func (s *FedMiddleAvg) CheckFor(fed *fedkit.Federation) error { return s.fedavg().CheckFor(fed) }

// Start draws x.
func (s *FedMiddleAvg) Start(r *fedkit.Round) error { return s.fedavg().Start(r) }

// Round implements fedkit.Strategy.
func (s *FedMiddleAvg) Round(r *fedkit.Round) error {
	x := s.State.X
	err := s.fedavg().Round(r)
	s.State.X = s.State.X.Add(x).Scale(0.5)
	return err
}

// Serve gives every client x.
func (s *FedMiddleAvg) Serve(r *fedkit.Round) fedkit.Serving { return s.fedavg().Serve(r) }
