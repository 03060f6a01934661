package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/server"
)

// FedOpt is adaptive federated optimisation (Reddi et al., arXiv 2003.00295, Algorithm 1; seed 001 §4–7): the clients
// train as in FedAvg, and the server takes what they moved on the whole for the negative of a gradient, with an optimiser
// of its own,
//
//	Δ = aggregate{w_i : i∈S} − x,  x ← x + step(Δ).
//
// x is [1, d]. FedAvgM, FedAdagrad, FedAdam and FedYogi are FedOpt with an optimiser of package server; every selector,
// aggregator and local solver goes with each of them. FedOpt[fedkit.ServerOptimizer] takes any optimiser at run time.
//
// An aggregator works on the models w_i, as in FedAvg, so that FedOpt[server.SGD] with η = 1 is FedAvg with that same
// aggregator. For the mean, the median, the trimmed mean, Krum and the geometric median it would be the same to
// aggregate the updates w_i − x: they move along with a shift of all the rows.
type FedOpt[O fedkit.ServerOptimizer] struct {
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // who; default uniformly at random
	Local      fedkit.Local      // E, B, η of the clients
	Aggregator fedkit.Aggregator // default aggregate.Mean
	Server     O                 // η and the decay rates of the server
	State      struct {
		X      *fedkit.Matrix
		Memory []*fedkit.Matrix // of the server optimiser
	}
}

// Name is the algorithm's: "FedYogi" for FedOpt[server.Yogi].
func (s *FedOpt[O]) Name() string {
	switch any(s.Server).(type) {
	case server.Momentum:
		return "FedAvgM"
	case server.Adagrad:
		return "FedAdagrad"
	case server.Adam:
		return "FedAdam"
	case server.Yogi:
		return "FedYogi"
	}
	return "FedOpt"
}

// Check implements fedkit.Checker.
func (s *FedOpt[O]) Check() error {
	if any(s.Server) == nil {
		return fedkit.Invalid("Server", "nil", "a server optimiser, such as server.Adam{}")
	}
	return checkParts(s.Fraction, s.Local, s.Selector, s.Aggregator, s.Server)
}

// CheckFor implements fedkit.FederationChecker.
func (s *FedOpt[O]) CheckFor(fed *fedkit.Federation) error {
	return checkCohort(fed, s.Fraction, s.Aggregator)
}

// Start draws x; the optimiser remembers nothing yet.
func (s *FedOpt[O]) Start(r *fedkit.Round) error {
	s.State.X, s.State.Memory = r.Models(1), nil
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedOpt[O]) Round(r *fedkit.Round) error {
	aggregator := cmp.Or[fedkit.Aggregator](s.Aggregator, aggregate.Mean{})
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local})
	delta := aggregator.Aggregate(u.Models, u.Examples()).Sub(s.State.X)
	step, memory := s.Server.Step(delta, s.State.Memory, r.T)
	s.State.X, s.State.Memory = s.State.X.Add(step), memory
	return r.Err()
}

// Serve gives every client x.
func (s *FedOpt[O]) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
