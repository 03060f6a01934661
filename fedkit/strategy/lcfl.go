package strategy

import (
	"cmp"
	"math"

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
	Grouped
}

// Round implements fedkit.Strategy.
func (s *LCFL) Round(r *fedkit.Round) error {
	if r.T != s.Warmup {
		s.State.step(r, r.Select(s.Selector, s.Fraction), s.Local, s.Weighting, Equal{})
		return r.Err()
	}
	u := s.State.step(r, r.AllClients(), s.Local, s.Weighting, Equal{})
	clients := u.Clients()
	f := r.Losses(u.Models, datasets.TrainPart, clients) // f_i(w_j) is f[j][i]
	d := cluster.NewCondensed(len(clients))
	for i := range clients {
		for j := range i {
			d.Set(i, j, math.Abs(f[i][i]-f[j][i])+math.Abs(f[j][j]-f[i][j]))
		}
	}
	by := cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Average})
	s.State.divide(clients, r.Cluster(by, cluster.FromDistances(d), s.K))
	return r.Err()
}
