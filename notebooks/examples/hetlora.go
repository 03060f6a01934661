package examples

import (
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/mat"
)

// HetLoRA averages LoRA's matrices of clients with ranks of their own, padded with zeros (Cho et al., arXiv 2401.06432, without pruning of
// ranks). A client trains the first r_i columns of each A and rows of each B, and counts by how far it has moved:
//
//	A ← Σ_{i∈S} p_i [A_i, 0],  B ← Σ_{i∈S} p_i [B_i; 0],   p_i = ‖A_i B_i‖ / Σ_j ‖A_j B_j‖ over all matrices
//
// Traffic is r_i/r of FedAvg's. x is [1, d]. Identity: of one client, it is what the client sends. If no client has moved, p_i = 1/|S|.
type HetLoRA struct {
	Ranks    Ranks        // r_i by client; default the model's r
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	strategy.State
}

// Check implements fedkit.Checker.
func (s *HetLoRA) Check(fed *fedkit.Federation, _ int) error { return adapted(fed, s.Ranks) }

// Round implements fedkit.Strategy.
func (s *HetLoRA) Round(r *fedkit.Round) error {
	u := s.Ranks.train(r, s.X, s.Fraction, s.Local, true)
	rows, err := u.Models.Host()
	r.Fail(err)
	if r.Err() != nil {
		return r.Err()
	}
	weights, moved, d := make([]float64, len(u.Results)), 0., r.Fed.Task.Dim()
	for i := range weights {
		for _, m := range adapters(r.Fed.Task) {
			var AB mat.Dense
			AB.Mul(m.factors(rows[i*d : (i+1)*d]))
			weights[i] = math.Hypot(weights[i], mat.Norm(&AB, 2))
		}
		moved += weights[i]
	}
	if moved == 0 {
		weights = nil
	}
	s.X = u.Models.Mean(weights).Blend(s.X, r.Trained())
	return r.Err()
}
