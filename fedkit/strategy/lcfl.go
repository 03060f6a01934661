package strategy

import (
	"cmp"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// LCFL clusters clients by their losses on each other's models (Gu et al., arXiv 2407.09360; the rule is that of the authors'
// code, github.com/wenh06/LCFL). It starts as FedAvg with equal weights. In the last warm-up round all clients participate,
// each evaluates the models w_j of all others, and those that do well with each other's are close:
//
//	d_ij = |f_i(w_i) − f_i(w_j)| + |f_j(w_j) − f_j(w_i)|,   f_i: mean loss on the training examples of client i
//
// From then on it is FedAvg within each cluster, from the global model. Models is [k, d], initially k = 1. A cluster without a
// client in a round keeps its model. The clustering sends M models to each of the M clients. A client whose update was skipped
// there is in the first cluster; an unseen client uses the model with the lowest loss on its training examples. The authors
// cluster by k-medoids. Identity: with K = 1 it is FedAvg with equal weights.
type LCFL struct {
	K         int               `range:"[1,inf)" default:"one found by the clusterer, or by silhouette"` // k, clusters
	Warmup    int               `range:"[1,inf)" default:"5"`                                            // rounds before the clustering
	Clusterer cluster.Clusterer // works on distances d_ij; default cluster.Agglomerative{Linkage: cluster.Average}
	Weighting Weighting         // default Equal, as in the authors' code
	Fraction  float64           // share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector   // chooses the cohort; default uniformly at random
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η
	State     struct {
		Models  *fedkit.Matrix // one per cluster, [k, d]
		Cluster cluster.Groups // each client's cluster, [M]
	}
}

// Check implements fedkit.Checker.
func (s *LCFL) Check(fed *fedkit.Federation, _ int) error {
	return fitsClustered(fed)
}

// Start draws one model for all.
func (s *LCFL) Start(r *fedkit.Round) error {
	s.State.Models, s.State.Cluster = r.Models(1), make([]int, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *LCFL) Round(r *fedkit.Round) error {
	st, last := &s.State, r.T == s.Warmup
	S := r.AllClients()
	if !last {
		S = r.Select(s.Selector, s.Fraction)
	}
	u := r.Train(fedkit.Job{Clients: S, Start: st.Models.Take(take(st.Cluster, S)...), Local: s.Local})
	p := Weights(r, u, s.Weighting, Equal{})
	st.Models = meanByCluster(st.Models, u.Models, take(st.Cluster, u.Clients()), p)
	if last {
		s.cluster(r, u)
	}
	return r.Err()
}

// cluster clusters the clients by d_ij.
func (s *LCFL) cluster(r *fedkit.Round, u *fedkit.Updates) {
	st, clients := &s.State, u.Clients()
	f := r.Losses(u.Models, datasets.TrainPart, clients) // f_i(w_j) is f[j][i]
	d := cluster.NewCondensed(len(clients))
	for i := range clients {
		for j := range i {
			d.Set(i, j, math.Abs(f[i][i]-f[j][i])+math.Abs(f[j][j]-f[i][j]))
		}
	}
	labels := r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Average}), cluster.FromDistances(d), s.K)
	st.Cluster.Set(clients, labels)
	st.Models = st.Models.Repeat(slices.Max(labels) + 1)
}

// Serve gives every client the model of its cluster.
func (s *LCFL) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Models, Assign: s.State.Cluster, Clusters: s.State.Cluster}
}
