package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/strategy"
)

// CGPFL is cluster-guided personalized federated learning, as CFLA 1.0.4 has it: FedProx within clusters, which each client joins by the
// cosine of its model and the centers Ω_k after each round,
//
//	w_i ≈ argmin_w f_i(w) + (μ/2)‖w − Ω_k‖², k = k_i,   for i ∈ S, from Ω_k
//	k_i ← argmax_k cos(w_i, Ω_k)
//	Ω_k ← mean of w_i over i ∈ S with k_i = k
//
// Tang et al. (arXiv 2106.13044), whose name it has, instead train personal models as pFedMe does, and find clusters by k-means. In CFLA
// all centers start as one model, so that the first client's choice is a tie, and clients start from that model in every round; here the
// first clusters are by k-means of the first round's models. A center without clients does not change. A client that has not taken part
// uses the mean of the centers; an unseen one uses the center with the lowest loss. Identity: K = 1 is FedProx with equal weights.
type CGPFL struct {
	K        int          `range:"[1,inf)" default:"3"` // k, centers
	Mu       float64      `range:"[0,inf)" default:"1"` // μ, pull of Ω_k
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η; Mu replaces its Prox
	strategy.Grouped
}

// Start draws one model for all centers.
func (s *CGPFL) Start(r *fedkit.Round) error {
	s.State.Models, s.State.Of = r.Models(1).Repeat(s.K), cluster.Ungrouped(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *CGPFL) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: starts(s.State.Clustered, S), Local: s.Local, Pulls: []fedkit.Pull{{Weight: s.Mu}}})
	var of []int
	if r.T == 1 {
		of = r.Cluster(cluster.KMeans{}, r.Points(u.Models), s.K)
	} else if p := r.Points(fedkit.StackRows(u.Models, s.State.Models)); r.Err() == nil {
		of = closest(p, len(u.Results))
	}
	if r.Err() == nil {
		s.State.Of.Set(u.Clients(), of)
		s.State.Models = averaged(s.State.Models, u.Models, of, nil)
	}
	return r.Err()
}

// Serve gives every client its center.
func (s *CGPFL) Serve(*fedkit.Round) fedkit.Serving { return served(s.State.Clustered) }
