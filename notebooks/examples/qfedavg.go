package examples

import (
	"math"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// QFedAvg is fair federated learning (Li et al., arXiv 1905.10497, Algorithm 2): it minimizes Σ_i F_i^(q+1)/(q+1), so that
// clients with a large loss F_i count for more,
//
//	x ← x + Σ_{i∈S} L F_i^q Δ_i / Σ_{i∈S} (q F_i^(q−1) L²‖Δ_i‖² + L F_i^q),  L = 1/η,
//
// where F_i is the loss of x on all of client i's examples. x is [1, d]. Identity: with q = 0 it is FedAvg with equal
// weights.
type QFedAvg struct {
	Fraction  float64            // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local       // local solver: E epochs, B examples per batch, η
	Q         float64            `range:"[0,inf)"` // q: 0 is FedAvg, more is fairer
	Weighting strategy.Weighting // default strategy.Equal; the paper has it, with clients drawn in proportion to n_i
	strategy.State
}

// Check implements fedkit.Checker.
func (s *QFedAvg) Check(fed *fedkit.Federation, _ int) error {
	return fed.AllTrained("strategy", "QFedAvg")
}

// Round implements fedkit.Strategy.
func (s *QFedAvg) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	loss := r.Losses(s.X, datasets.TrainPart, S)[0]
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Down: fedkit.Zero}) // clients already have x
	l, h, weight := 1/s.Local.Rate(r.T), 0.0, strategy.Weights(r, u, s.Weighting, strategy.Equal{})
	for i, solve := range u.Results {
		f := loss[u.Positions[i]] + 1e-10 // a loss of 0 has no power q − 1
		h += weight[i] * (s.Q*math.Pow(f, s.Q-1)*math.Pow(l*float64(solve.Drift), 2) + l*math.Pow(f, s.Q))
		weight[i] *= l * math.Pow(f, s.Q)
	}
	floats.Scale(1/h, weight)
	s.X = s.X.Add(u.Delta().Mix([][]float64{weight}))
	return r.Err()
}
