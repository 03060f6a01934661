package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/strategy"
)

// LCFed clusters clients by low-rank models (Zhang et al., arXiv 2501.01850; as in CFLA 1.0.4). A model is an embedding φ and a head,
// w = (φ, h); its cluster's center Ω_k pulls all of it, and the mean Φ of all embeddings pulls φ:
//
//	w_i ≈ argmin_w f_i(w) + (μ/2)‖w − Ω_k‖² + (λ/2)‖φ − Φ‖², k = k_i,   for i ∈ S, from Ω_k
//	Φ   ← mean of φ_i over S;   k_i ← argmax_k cos(M w_i, M Ω_k)
//	Ω_k ← mean of w_i over i ∈ S with k_i = k, its embedding moved toward Φ by the share β
//
// M [D, d] has the principal directions of the round's models; the first clusters are by k-means of M w_i. CFLA computes M once, from
// equal models, and starts clients in Φ with the initial head. A client that has not taken part uses the mean of the Ω_k, an unseen one
// that with the lowest loss. Identity: K = 1 with λ = β = 0 is FedProx with equal weights, but for the bytes of Φ.
type LCFed struct {
	K        int          `range:"[1,inf)" default:"3"`  // K, centers
	Mu       float64      `range:"[0,inf)" default:"1"`  // μ, pull of Ω_k on the model
	Lambda   float64      `range:"[0,inf)" default:"2"`  // λ, pull of Φ on the embedding
	Beta     float64      `range:"[0,1]"`                // β, by which Φ replaces the embeddings of Ω_k
	D        int          `range:"[1,inf)" default:"10"` // principal directions
	Head     []string     // layers of the head, as in Task.Mask; default the last
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η; Mu replaces its Prox
	State    struct {
		strategy.Clustered
		Phi *fedkit.Matrix // Φ, in a whole model [1, d]
	}
}

// Check implements fedkit.Checker.
func (s *LCFed) Check(f *fedkit.Federation, _ int) error { return checkHead(f, s.Head) }

// Start draws one model for all centers.
func (s *LCFed) Start(r *fedkit.Round) error {
	s.State.Phi = r.Models(1)
	s.State.Models, s.State.Of = s.State.Phi.Repeat(s.K), cluster.Ungrouped(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *LCFed) Round(r *fedkit.Round) error {
	S, st := r.Select(nil, s.Fraction), &s.State
	phi, share := embedding(r, s.Head)
	u := r.Train(fedkit.Job{Clients: S, Start: starts(st.Clustered, S), Local: s.Local, Down: 1 + share,
		Pulls: []fedkit.Pull{{Weight: s.Mu}, {To: st.Phi, Weight: s.Lambda, Mask: phi}}})
	st.Phi = u.Models.Mean(nil)
	low := lowRank(r, u.Models, st.Models, s.D)
	if r.Err() != nil {
		return r.Err()
	}
	of := closest(cluster.FromVectors(low), len(u.Results))
	if r.T == 1 {
		of = r.Cluster(cluster.KMeans{}, cluster.FromRows(low, r.AllClients()[:len(of)]), s.K)
	}
	st.Of.Set(u.Clients(), of)
	st.Models = averaged(st.Models, toward(u.Models, st.Phi, phi, s.Beta), of, nil)
	return r.Err()
}

// Serve gives every client its center.
func (s *LCFed) Serve(*fedkit.Round) fedkit.Serving { return served(s.State.Clustered) }
