package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FedSC clusters clients once, before the first round, by their label distributions (Wang et al., Electronic Research Archive
// 31, 2023, doi:10.3934/era.2023266). The attribute of client i is the share of each label in its examples,
//
//	I_i = [n_i1/n_i, n_i2/n_i, …],  d_ij = ‖I_i − I_j‖₂,
//
// and clusters are merged bottom-up by complete linkage. Then one model x [1, d] is trained. In a round, a share C of each
// cluster participates; the clusters train in sequence and pass the model on (§3.3, the default), or all train in parallel
// (Algorithm 1):
//
//	x ← Σ_{i∈S_c} (n_i/N_c) w_i,  c = 1, 2, …        in sequence
//	x ← x − η Σ_{i∈S} (n_i/N) Δ_i,  Δ_i = x − w_i    in parallel
//
// Clusters are numbered, and visited, in the order of their first clients; one without a client in the round is skipped. If no
// client of a turn returns a finite update, the run ends, even with Options.NotFinite = Skip. Unseen clients use x.
//
// In a deployment, attributes would travel sealed by HPKE (RFC 9180), so that only the server can read them. The traffic counts what
// that takes: each client receives the server's public key, 32 bytes, and sends 48 bytes more than the 8 per label. The simulation
// encrypts nothing.
//
// With Updates, all clients instead train once from the first x, and are clustered by the cosine similarity of their updates;
// d_ij is then √(2 − 2 cos). That costs a round of FedAvg. A client that is skipped in it gets no cluster, −1, and never
// participates.
//
// Identities: with one cluster both schedules are FedAvg; in parallel with C = η = 1 so is any number of clusters, since they
// only determine the cohort.
type FedSC struct {
	K         int               `range:"[0,inf)"` // N, clusters; 0: found by the Clusterer, or else by silhouette
	Clusterer cluster.Clusterer // default cluster.Agglomerative{Linkage: cluster.Complete}
	Updates   bool              // cluster by the first updates instead of label shares
	Parallel  bool              // Algorithm 1: all clusters in parallel; default section 3.3, in sequence
	Eta       float64           `range:"(0,inf)" default:"1"` // η of Algorithm 1, the server's step size
	Weighting Weighting         // default ByExamples, as in the paper
	Fraction  float64           // C, share of each cluster's clients in a round, in (0, 1], at least one; default all
	Selector  fedkit.Selector   // chooses from all clients; default uniformly at random in each cluster
	Local     fedkit.Local      // E, B, η of the clients
	State     struct {
		X       *fedkit.Matrix // x, [1, d]
		Cluster cluster.Groups // each client's cluster, [M]; one for all before the first round
	}
}

// Check implements fedkit.Checker.
func (s *FedSC) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case fed == nil:
		return nil
	case s.Parallel && s.Eta > 1 && fed.AllTrained("", nil) != nil:
		return fed.AllTrained("Eta", s.Eta)
	case s.Updates:
		return fitsClustered(fed)
	}
	return needsLabels(fed, "Updates", false, "true")
}

// Start draws x.
func (s *FedSC) Start(r *fedkit.Round) error {
	s.State.X, s.State.Cluster = r.Models(1), make(cluster.Groups, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedSC) Round(r *fedkit.Round) error {
	if r.T == 1 {
		s.cluster(r)
	}
	if r.Err() != nil {
		return r.Err()
	}
	groups := sampleClusters(r, s.Selector, s.Fraction, s.State.Cluster)
	if !s.Parallel {
		s.State.X = inTurn(r, s.State.X, groups, s.Local, s.Weighting)
		return r.Err()
	}
	S := slices.Sorted(slices.Values(slices.Concat(groups...)))
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local})
	s.State.X = s.State.X.Add(u.Delta().Mean(Weights(r, u, s.Weighting, ByExamples{})).Scale(s.Eta))
	return r.Err()
}

// cluster groups the clients by their label shares or first updates.
func (s *FedSC) cluster(r *fedkit.Round) {
	clients, points := r.AllClients(), (*cluster.Points)(nil)
	if s.Updates {
		u := r.Train(fedkit.Job{Clients: clients, Start: s.State.X, Local: s.Local})
		clients, points = u.Clients(), r.Points(unit(r, u.Delta()))
	} else {
		points = sendShares(r)
	}
	labels := cluster.Renumber(r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Complete}), points, s.K))
	s.State.Cluster = cluster.Ungrouped(r.Clients())
	s.State.Cluster.Set(clients, labels)
}

// unit scales rows to length 1; a row of zeros stays as it is.
func unit(r *fedkit.Round, m *fedkit.Matrix) *fedkit.Matrix {
	lengths, err := m.Norms()
	r.Fail(err)
	for i, l := range lengths {
		lengths[i] = 1 / cmp.Or(l, 1)
	}
	return m.ScaleRows(lengths)
}

// Serve gives every client x.
func (s *FedSC) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.X, Clusters: s.State.Cluster}
}
