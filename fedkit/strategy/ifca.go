package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// IFCA is the iterative federated clustering algorithm (Ghosh et al., arXiv 2006.04088, Algorithm 1):
// k models θ [k, d]; in each round a client finds the one with the lowest loss on its own examples,
//
//	ĵ_i = argmin_j F_i(θ_j),
//
// trains it, and model averaging (option II, the default) or gradient averaging (option I) updates it,
//
//	option I:  θ_j ← θ_j − (γ/m) Σ_i s_ij ∇F_i(θ_j),   m = |S|
//	option II: θ_j ← Σ_i s_ij w_i / Σ_i s_ij,          s_ij = 1 if j = ĵ_i, else 0
//
// A model that no client chose does not change. Whether the models separate the groups depends on their random initialization.
// Every client, even an unseen one, uses the model with the lowest loss on its training examples. The record has each client's
// last choice, −1 before its first.
// Identities: with k = 1, option II is FedAvg with equal weights, and option I is FedSGD with equal weights and η = γ.
type IFCA struct {
	K         int             `range:"[1,inf)" default:"2"` // k, number of models
	Fraction  float64         // share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector // chooses the cohort; default uniformly at random
	Local     fedkit.Local    // local solver of option II
	Gradients bool            // option I: clients send gradients; default option II, models
	Gamma     float64         `range:"(0,inf)" default:"0.1"` // γ of option I, step size of the server
	Weighting Weighting       // default Equal, as in the paper, whose clients all have n examples
	State     struct {
		Theta  *fedkit.Matrix // θ, [k, d]
		Choice cluster.Groups // ĵ, [M]
	}
}

// Check implements fedkit.Checker.
func (s *IFCA) Check(fed *fedkit.Federation, _ int) error {
	return fed.Fits("K", s.K, float64(s.K))
}

// Start draws k different models.
func (s *IFCA) Start(r *fedkit.Round) error {
	s.State.Theta = r.Models(s.K)
	s.State.Choice = cluster.Ungrouped(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *IFCA) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	theta := s.State.Theta
	choice := r.LowestLoss(theta, S)
	s.State.Choice.Set(S, choice)
	local := s.Local
	if s.Gradients {
		local = fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 1}
	}
	u := r.Train(fedkit.Job{Clients: S, Start: theta.Take(choice...), Local: local, Down: fedkit.Zero}) // clients already have the models
	chose := cluster.Groups(take(choice, u.Positions))
	if s.Gradients {
		gamma := relativeWeights(r, u, s.Weighting, Equal{})
		floats.Scale(s.Gamma/float64(len(chose)), gamma)
		s.State.Theta = theta.Add(u.Delta().Mix(chose.Weights(theta.Rows(), gamma))) // γ/m s_ij
		return r.Err()
	}
	s.State.Theta = meanByCluster(theta, u.Models, chose, Weights(r, u, s.Weighting, Equal{}))
	return r.Err()
}

// Serve gives every client the model with the lowest loss on its training examples.
func (s *IFCA) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Theta, ByLoss: true, Clusters: s.State.Choice}
}
