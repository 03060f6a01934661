package strategy

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FedCluster is cluster-cycling (Chen et al., arXiv 2009.10748, Algorithm 1): fixed clusters of clients train sequentially in
// each round, in a random order σ. After each of them, one model W [1, d] is updated,
//
//	W ← Σ_{i∈S_c} (p_i/q_c) w_i,  c = σ(1), …, σ(K),  p_i = n_i/n,  q_c = Σ_{i∈S_c} p_i,
//
// where S_c is a share of the cluster's clients. A client trains once per round and sends as much as in FedAvg, but W moves K
// times. Clusters are drawn at random with sizes as equal as possible, found by a clusterer from the clients' label shares, or
// given. With more clusters than clients, each client is alone.
//
// A cluster without a client in the round is skipped. If no client of a cluster returns a finite update, the run ends, even
// with Options.NotFinite = Skip. Unseen clients use W. Identity: with one cluster it is FedAvg.
type FedCluster struct {
	K         int               `range:"[1,inf)" default:"5"` // clusters, the paper's M; the maximum if the Clusterer finds their number
	Clusterer cluster.Clusterer // groups clients by their label shares (8 bytes per label, sent once); default: at random
	Clusters  []int             // each client's cluster, instead of K and Clusterer
	Weighting Weighting         // default ByExamples, as in the paper
	Fraction  float64           // share of each cluster's clients in a round, in (0, 1], at least one; default all
	Selector  fedkit.Selector   // chooses from all clients; default uniformly at random in each cluster
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η
	State     struct {
		W       *fedkit.Matrix // W, [1, d]
		Cluster cluster.Groups // each client's cluster, [M]
	}
}

// Check implements fedkit.Checker.
func (s *FedCluster) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case s.Clusterer != nil && s.Clusters != nil:
		return fedkit.Invalid("Clusters", s.Clusters, "nil if Clusterer is set: use one of them")
	case s.Clusterer != nil:
		return needsLabels(fed, "Clusterer", fmt.Sprintf("%T", s.Clusterer), "nil")
	case s.Clusters != nil && len(s.Clusters) != fed.Size():
		return fedkit.Invalid("len(Clusters)", len(s.Clusters), fmt.Sprintf("%d, one per client", fed.Size()))
	case s.Clusters != nil && (slices.Min(s.Clusters) < 0 || slices.Max(s.Clusters) >= fed.Size()):
		return fedkit.Invalid("Clusters", s.Clusters, fmt.Sprintf("in [0, %d)", fed.Size()))
	}
	return nil
}

// Start draws W and forms the clusters.
func (s *FedCluster) Start(r *fedkit.Round) error {
	s.State.W, s.State.Cluster = r.Models(1), slices.Clone(s.Clusters)
	switch {
	case s.Clusters != nil:
	case s.Clusterer != nil:
		s.State.Cluster = r.Cluster(s.Clusterer, cluster.FromVectors(labelShares(r.Fed)), s.K)
	default:
		s.State.Cluster = make([]int, r.Clients())
		for at, i := range r.Rand("clusters").Perm(r.Clients()) {
			s.State.Cluster[i] = at % s.K
		}
	}
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedCluster) Round(r *fedkit.Round) error {
	if r.T == 1 && s.Clusterer != nil {
		r.Send(r.AllClients(), []int{fedkit.Cloud}, float64(8*r.Fed.Data.Classes)/float64(r.Fed.Task.Bytes())) // the label shares
	}
	groups := sampleClusters(r, s.Selector, s.Fraction, s.State.Cluster)
	order := r.Rand("order").Perm(len(groups))
	s.State.W = inTurn(r, s.State.W, take(groups, order), s.Local, s.Weighting)
	return r.Err()
}

// Serve gives every client W.
func (s *FedCluster) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.W, Clusters: s.State.Cluster}
}
