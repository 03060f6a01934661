package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FedClust clusters clients by their trained weights, and trains one model w_c per cluster, [k, d]. There are two forms. By
// default it clusters repeatedly: a client trains its cluster's model and returns w_i; every C rounds, from the first on, the
// round's clients are clustered by ‖w_i − w_j‖₂ over the named layers; then
//
//	w_c ← Σ_{i∈c} (n_i/N_c) w_i,  N_c = Σ_{i∈c} n_i.
//
// Whole models stay close to where they started, so clients rarely change clusters, right or wrong. New clusters are matched to
// old ones by shared clients. A client without a cluster trains the mean of the cluster models, and between two clusterings
// joins the nearest cluster.
//
// With Once it is the paper's (Islam et al., arXiv 2403.04144 and 2407.07124), which clusters once. In round 1 every client,
// whatever the Fraction, trains the initial model and sends its last layer only, and nothing is averaged. From round 2 on, it
// is FedAvg within each cluster, from the initial model. The paper finds k by cutting the dendrogram at a height: Clusterer:
// cluster.Agglomerative{Linkage: cluster.Average, Height: λ}.
//
// A cluster without a client in the round keeps its model. With K = 0, empty clusters are dropped. An unseen client trains the
// mean of the cluster models, with Once the initial model, and gets the cluster nearest to its result: by the cluster models,
// with Once by the mean of what each cluster sent in round 1. Identities: K = 1 is FedAvg, and K = M with full participation is
// LocalOnly.
type FedClust struct {
	K          int               `range:"[0,inf)"` // k, clusters; 0: found by the clusterer, or else by silhouette
	Clusterer  cluster.Clusterer // default cluster.Agglomerative, with Ward's linkage
	Layers     []string          // layers to compare, as in Task.Mask; default all, with Once the last parameter's
	Every      int               `range:"[1,inf)" default:"1"` // C, rounds between two clusterings; unused with Once
	Once       bool              // the paper's form
	MultiStart bool              // K initial models, for equal random shares of the clients; default one for all
	Weighting  Weighting         // default ByExamples, as in FedAvg
	Fraction   float64           // share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Local      fedkit.Local      // local solver: E epochs, B examples per batch, η
	State      struct {
		Clustered
		Initial, Means *fedkit.Matrix // with Once: the initial model [1, d], and the mean of each cluster's first uploads [k, d]
	}
}

// Check implements fedkit.Checker.
func (s *FedClust) Check(fed *fedkit.Federation, n int) error {
	switch {
	case s.Once && s.MultiStart:
		return fedkit.Invalid("MultiStart", true, "false if Once is set: all clients train one initial model")
	case s.MultiStart && s.K == 0:
		return fedkit.Invalid("K", 0, "at least 1 if MultiStart is set")
	case fed == nil:
		return nil
	}
	if err := checkLayers("Layers", fed, s.Layers); err != nil {
		return err
	}
	if s.Once { // all clients' models in round 1
		return fitsClustered(fed)
	}
	return cmp.Or(fed.Fits("K", s.K, float64(s.K)), fed.FitsPairs("clients per round", n))
}

// Start draws one model for all, or several.
func (s *FedClust) Start(r *fedkit.Round) error {
	k := max(s.K, 1)
	s.State.Clustered = Clustered{r.Models(1).Repeat(k), cluster.Ungrouped(r.Clients())}
	s.State.Initial, s.State.Means = nil, nil
	switch {
	case s.Once:
		s.State.Initial = s.State.Models.Take(0)
	case s.MultiStart:
		s.State.Models = r.Models(k)
		for i, c := range r.Rand("clusters").Perm(r.Clients()) {
			s.State.Of[c] = i % k
		}
	}
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedClust) Round(r *fedkit.Round) error {
	if s.Once {
		return onceFedClust{s}.Round(r)
	}
	u := s.train(r)
	if (r.T-1)%s.Every == 0 {
		if of := s.group(r, u.Models); r.Err() == nil {
			s.State.match(u.Clients(), of, s.K == 0)
		}
	}
	return s.average(r, u)
}

// train trains the round's clients, each from its cluster's model.
func (s *FedClust) train(r *fedkit.Round) *fedkit.Updates {
	S := r.Select(s.Selector, s.Fraction)
	return r.Train(fedkit.Job{Clients: S, Start: s.State.starts(S), Local: s.Local})
}

// group clusters models [n, d].
func (s *FedClust) group(r *fedkit.Round, models *fedkit.Matrix) []int {
	by := cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{})
	return r.Cluster(by, r.Points(s.features(r, models)), s.K)
}

// average assigns clients without a cluster to the nearest one, and averages the returned models within each cluster.
func (s *FedClust) average(r *fedkit.Round, u *fedkit.Updates) error {
	in := cluster.Groups(take(s.State.Of, u.Clients()))
	if alone := in.Members(cluster.None); alone != nil && r.Err() == nil {
		near := s.State.join(r, s.features(r, u.Models), s.features(r, s.State.Models))
		in.Set(alone, take(near, alone))
		s.State.Of.Set(u.Clients(), in)
	}
	if r.Err() == nil {
		s.State.Models = meanByCluster(s.State.Models, u.Models, in, Weights(r, u, s.Weighting, ByExamples{}))
	}
	return r.Err()
}

// features returns models with 0 for all but the compared layers.
func (s *FedClust) features(r *fedkit.Round, models *fedkit.Matrix) *fedkit.Matrix {
	if layers := s.layers(r.Fed.Task); len(layers) > 0 {
		return models.Mul(r.Mask(layers...))
	}
	return models
}

// layers returns the names of the compared layers, none for all.
func (s *FedClust) layers(t *fedkit.Task) []string {
	if s.Once && len(s.Layers) == 0 {
		return []string{lastLayer(t)}
	}
	return s.Layers
}

// Serve gives each client the model of its cluster.
func (s *FedClust) Serve(*fedkit.Round) fedkit.Serving { return s.State.serving(s.State.Of) }

// ServeUnseen gives each unseen client the model of the cluster nearest to its result.
func (s *FedClust) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	if s.Once {
		return onceFedClust{s}.ServeUnseen(r)
	}
	return s.welcome(r, s.State.mean(), s.State.Models)
}

// welcome trains unseen clients from start, and serves each the model of the cluster with the nearest center.
func (s *FedClust) welcome(r *fedkit.Round, start, centers *fedkit.Matrix) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: start, Local: s.Local})
	return s.State.unseen(r, u, s.State.join(r, s.features(r, u.Models), s.features(r, centers)))
}
