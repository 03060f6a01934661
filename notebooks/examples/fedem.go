package examples

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FedEM learns K models and each client's mixture of them (Marfoq et al., arXiv 2108.10252, Algorithm 1):
//
//	q_k(j) ∝ π_ik exp(−ℓ(θ_k; x_j, y_j)),  π_ik ← mean of q_k(j) over the client's examples j    for i ∈ S
//	θ_ik ← epochs on Σ_j q_k(j) ℓ(θ; x_j, y_j)/n_i from θ_k,  θ_k ← Σ_{i∈S} (n_i/N) θ_ik
//
// Client i predicts Σ_k π_ik softmax(h_k(x)). π_i stays with it; an unseen client fits its own to the fixed θ_k. Identity: with
// K = 1 it is FedAvg.
type FedEM struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η; the K solves of a client see the same batches
	K        int          `range:"[1,inf)" default:"3"` // K, number of models
	State    struct {
		Theta *fedkit.Matrix // θ_k, [K, d]
		Pi    [][]float64    // π_i, [M, K]
	}
}

// Start draws K models, which all clients weigh equally.
func (s *FedEM) Start(r *fedkit.Round) error {
	s.State.Theta = r.Models(s.K)
	s.State.Pi = slices.Repeat([][]float64{slices.Repeat([]float64{1 / float64(s.K)}, s.K)}, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedEM) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	q := make([][][]float32, s.K) // by model, client of S and example
	for i, losses := range r.ExampleLosses(s.State.Theta, datasets.TrainPart, S) {
		own, pi := cluster.Responsibilities(losses, s.State.Pi[S[i]])
		for k := range q {
			q[k] = append(q[k], own[k])
		}
		s.State.Pi[S[i]] = pi
	}
	next := make([]*fedkit.Matrix, s.K)
	for k := range next {
		u := r.Train(fedkit.Job{Clients: S, Start: s.State.Theta.Take(k), Local: s.Local, Weights: q[k], ReuseBatches: min(k, 1), Down: fedkit.Zero}) // clients have all θ_k
		next[k] = u.Models.Mean(u.Examples())
	}
	s.State.Theta = fedkit.StackRows(next...)
	return r.Err()
}

// Serve gives every client its mixture.
func (s *FedEM) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Theta, Ensemble: s.State.Pi}
}
