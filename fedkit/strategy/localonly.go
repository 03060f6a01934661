package strategy

import "fedkit.example/fedkit"

// LocalOnly does not federate: every client trains its own model w_i on its own examples, and nothing is shared. It is the
// baseline without collaboration. For a fair comparison, give it the same total of local epochs as the federated runs. The
// models are W [M, d], all starting from the same one. An unseen client gets the model with the lowest loss on its training
// examples.
type LocalOnly struct {
	Fraction float64         // C, share of the clients that train in a round, in (0, 1]; default all
	Selector fedkit.Selector // chooses the cohort; default uniformly at random
	Local    fedkit.Local    // local solver: E epochs, B examples per batch, η
	State    struct {
		W *fedkit.Matrix // w_i, [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *LocalOnly) Check(fed *fedkit.Federation, _ int) error {
	return fed.Fits("clients", fed.Size(), float64(fed.Size()))
}

// Start draws one model and gives it to every client.
func (s *LocalOnly) Start(r *fedkit.Round) error {
	s.State.W = r.Models(1).Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *LocalOnly) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.W.Take(S...), Local: s.Local, StayLocal: true})
	s.State.W = s.State.W.Put(u.Clients(), u.Models)
	return r.Err()
}

// Serve gives every client its own model.
func (s *LocalOnly) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.W, Assign: r.AllClients()}
}
