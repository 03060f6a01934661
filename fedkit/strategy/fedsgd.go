package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
)

// FedSGD is distributed gradient descent (McMahan et al., arXiv 1602.05629; seed 001 §2): the clients of a round return
// gradients at the global model x, and the server takes one step along their mean,
//
//	g = Σ_{i∈S} (n_i/N) ∇f_i(x),  x ← x − η g.
//
// A client's gradient is that of its full local loss, or of a random batch if Batch is set. Identity: FedAvg with one
// epoch of one full batch.
type FedSGD struct {
	Fraction float64         // C, share of the clients in a round, in (0, 1]; default all
	Selector fedkit.Selector // who; default uniformly at random
	LR       float64         // η; default 0.1
	Batch    int             // examples in a client's gradient; default all
	State    struct{ X *fedkit.Matrix }
}

// Check implements fedkit.Checker.
func (s *FedSGD) Check() error {
	if s.Batch < 0 {
		return fedkit.Invalid("Batch", s.Batch, "at least 1, or 0 for all of a client's examples")
	}
	if !(s.LR >= 0) {
		return fedkit.Invalid("LR", s.LR, "> 0, or 0 for the default of 0.1")
	}
	return checkParts(s.Fraction, fedkit.Local{}, s.Selector)
}

// Start draws x.
func (s *FedSGD) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedSGD) Round(r *fedkit.Round) error {
	// One step of rate 1 from x ends at x − ∇f_i(x): what moved is the gradient.
	gradient := fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 1}
	if s.Batch > 0 {
		gradient.Batch = s.Batch
	}
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: gradient})
	s.State.X = s.State.X.Add(u.Delta().Mean(u.Examples()).Scale(cmp.Or(s.LR, 0.1)))
	return r.Err()
}

// Serve gives every client x.
func (s *FedSGD) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
