package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FLHC is federated learning with hierarchical clustering (Briggs et al., arXiv 2004.11791, Algorithm 1): R rounds of FedAvg, a round in
// which every client trains once from x and x stays, and from then on FedAvg within each cluster of the updates Δ_i of that round,
//
//	x ← Σ_{i∈S} (n_i/N) w_i                                             rounds 1, …, R
//	C_1, …, C_k ← dendrogram of ‖Δ_i − Δ_j‖₂, cut;  w_c ← x               round R+1, all clients
//	w_c ← Σ_{i∈c∩S} (n_i/N_c) w_i,  N_c = Σ_{i∈c∩S} n_i                   later
//
// The dendrogram is cut at K clusters or, with Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: λ}, at a distance of λ.
// With Cosine, distances are √(2 − 2 cos) of the updates' angles. The paper's L1 distance is left out: inner products do not tell it.
//
// There is one clustering, which is never corrected: too early, it shows how far clients have come and not where they go, and one
// threshold does not suit another model or solver. A cluster without a client in a round keeps its model. A client whose update was
// skipped in round R+1 is in the first cluster; an unseen client uses the model with the lowest loss on its training examples. Models
// is [k, d], initially k = 1. Identities: before round R+1 it is FedAvg, and with K = 1 it is FedAvg with that round more.
type FLHC struct {
	K         int               `range:"[1,inf)" default:"one found by the clusterer, or by silhouette"` // k, clusters
	Warmup    int               `range:"[1,inf)" default:"10"`                                           // R, rounds before the clustering
	Clusterer cluster.Clusterer // default cluster.Agglomerative{Linkage: cluster.Complete}
	Cosine    bool              // compare the directions of updates, whatever their lengths
	Weighting Weighting         // default ByExamples, as in FedAvg
	Fraction  float64           // share of the clients in the other rounds, in (0, 1]; default all
	Selector  fedkit.Selector   // chooses their cohort; default uniformly at random
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η
	Grouped
}

// Round implements fedkit.Strategy.
func (s *FLHC) Round(r *fedkit.Round) error {
	if r.T != s.Warmup+1 {
		s.State.step(r, r.Select(s.Selector, s.Fraction), s.Local, s.Weighting, ByExamples{})
		return r.Err()
	}
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.Models, Local: s.Local})
	updates, by := u.Delta(), cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Complete})
	if s.Cosine {
		updates = unit(r, updates)
	}
	s.State.divide(u.Clients(), r.Cluster(by, r.Points(updates), s.K))
	return r.Err()
}
