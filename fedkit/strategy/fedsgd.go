package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
)

// FedSGD is distributed gradient descent (McMahan et al., arXiv 1602.05629, §2): the clients of a round return
// gradients at the global model x, and the server takes one step along their mean,
//
//	g = Σ_{i∈S} (n_i/N) ∇f_i(x),  x ← x − η g.
//
// A client's gradient is that of its full local loss, or of a random batch if Batch is set. Identity: FedAvg with one
// epoch of one full batch.
type FedSGD struct {
	Fraction  float64         // C, share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector // chooses the cohort; default uniformly at random
	Weighting Weighting       // default ByExamples, as in the paper
	LR        float64         `range:"(0,inf)" default:"0.1"`                        // η, step size of the server
	Batch     int             `range:"[1,inf)" default:"all of a client's examples"` // examples per client gradient
	State
}

// Check implements fedkit.Checker.
func (s *FedSGD) Check(fed *fedkit.Federation, _ int) error {
	if s.LR > 1 {
		return fed.AllTrained("LR", s.LR)
	}
	return nil
}

// Round implements fedkit.Strategy.
func (s *FedSGD) Round(r *fedkit.Round) error {
	u := s.train(r, s.Selector, s.Fraction, gradient(s.Batch))
	s.X = s.X.Add(u.Delta().Mean(Weights(r, u, s.Weighting, ByExamples{})).Scale(s.LR))
	return r.Err()
}

// gradient is a local step of rate 1, which ends at x − ∇f_i(x): the difference is the gradient. A batch of 0 is a full one.
func gradient(batch int) fedkit.Local {
	return fedkit.Local{Steps: 1, Batch: cmp.Or(batch, fedkit.FullBatch), LR: 1}
}
