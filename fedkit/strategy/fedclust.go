package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FedClust groups clients by the weights that they arrive at, and trains one model w_c per group, [k, d]. There are two
// forms. By default it groups again and again: a client trains the model of its cluster and returns w_i; every C rounds,
// from the first on, the clients of the round are grouped by ‖w_i − w_j‖₂ over the named layers; then
//
//	w_c ← Σ_{i∈c} (n_i/N_c) w_i,  N_c = Σ_{i∈c} n_i.
//
// Whole models remember where they started, so that clients rarely leave a cluster, right or wrong. New clusters are matched
// to the old ones by the clients that they share. A client that has no cluster yet trains the mean of the cluster models;
// between two groupings it then joins the nearest one.
//
// With Once it is the paper's (Islam et al., arXiv 2403.04144 and 2407.07124), which groups a single time. In round 1 every
// client, whatever the Fraction, trains the initial model and sends its last layer only, and nothing is averaged. From round
// 2 on, each cluster is FedAvg for itself, from the initial model. The paper finds k by cutting a tree at a height:
// Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: λ}.
//
// A cluster without a client in the round keeps its model. With K = 0 one that no client belongs to is dropped. A newcomer
// trains what a client without a cluster does, with Once the initial model, and gets the cluster that it ends nearest to: to
// its model, with Once to the mean of what its clients sent. Identities: K = 1 is FedAvg, and K = M with all clients in every
// round is LocalOnly.
type FedClust struct {
	K         int               `range:"[0,inf)"` // k; 0: as many as the clusterer finds, or by silhouette if it finds none
	Clusterer cluster.Clusterer // default cluster.Agglomerative, with Ward's linkage
	Layers    []string          // that are compared, as in Task.Mask; default all, with Once that of the last parameter
	Every     int               `range:"[1,inf)" default:"1"` // C, rounds between two groupings; nothing with Once
	Once      bool              // the paper's form
	Several   bool              // K initial models, each for an equal share of the clients, at random; default one for all
	Fraction  float64           // share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector   // who takes part; default uniformly at random
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η
	State     struct {
		Clustered
		Initial, Means *fedkit.Matrix // with Once: the initial model [1, d], and what each cluster sent at first [k, d]
	}
}

// Check implements fedkit.Checker.
func (s *FedClust) Check(fed *fedkit.Federation, n int) error {
	switch {
	case s.Once && s.Several:
		return fedkit.Invalid("Several", true, "false if Once is set: all clients train one initial model")
	case s.Several && s.K == 0:
		return fedkit.Invalid("K", 0, "at least 1 if Several is set")
	case fed == nil:
		return nil
	}
	if err := checkLayers("Layers", fed, s.Layers); err != nil {
		return err
	}
	if s.Once { // everyone's models in round 1
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
	case s.Several:
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
	if (r.T-1)%cmp.Or(s.Every, 1) == 0 {
		if of := s.group(r, u.Models); r.Err() == nil {
			s.State.match(u.Clients(), of, s.K == 0)
		}
	}
	return s.average(r, u)
}

// train trains the clients of a round, each the model of its cluster.
func (s *FedClust) train(r *fedkit.Round) *fedkit.Updates {
	S := r.Select(s.Selector, s.Fraction)
	return r.Train(fedkit.Job{Clients: S, Start: s.State.starts(S), Local: s.Local})
}

// group clusters models [n, d].
func (s *FedClust) group(r *fedkit.Round, models *fedkit.Matrix) []int {
	by := cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{})
	return r.Cluster(by, r.Points(s.features(r, models)), s.K)
}

// average lets clients of the round without a cluster join the nearest, and averages what each cluster's clients returned.
func (s *FedClust) average(r *fedkit.Round, u *fedkit.Updates) error {
	in := cluster.Groups(take(s.State.Of, u.Clients()))
	if alone := in.Members(cluster.None); alone != nil && r.Err() == nil {
		near := s.State.join(r, s.features(r, u.Models), s.features(r, s.State.Models))
		in.Set(alone, take(near, alone))
		s.State.Of.Set(u.Clients(), in)
	}
	if r.Err() == nil {
		s.State.Models = meanByCluster(s.State.Models, u.Models, in, u.Examples())
	}
	return r.Err()
}

// features returns what is compared of models: 0 elsewhere.
func (s *FedClust) features(r *fedkit.Round, models *fedkit.Matrix) *fedkit.Matrix {
	if layers := s.layers(r.Fed.Task); len(layers) > 0 {
		return models.Mul(r.Mask(layers...))
	}
	return models
}

// layers returns the names of those that are compared, none for all.
func (s *FedClust) layers(t *fedkit.Task) []string {
	if s.Once && len(s.Layers) == 0 {
		return []string{lastLayer(t)}
	}
	return s.Layers
}

// Serve gives each client the model of its cluster.
func (s *FedClust) Serve(*fedkit.Round) fedkit.Serving { return s.State.serving(s.State.Of) }

// Welcome gives each newcomer the model of the cluster that it ends nearest to.
func (s *FedClust) Welcome(r *fedkit.Round) fedkit.Serving {
	if s.Once {
		return onceFedClust{s}.Welcome(r)
	}
	return s.welcome(r, s.State.mean(), s.State.Models)
}

// welcome trains newcomers from start, and serves each the model of the cluster whose center is nearest to where it ends.
func (s *FedClust) welcome(r *fedkit.Round, start, centers *fedkit.Matrix) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.Everyone(), Start: start, Local: s.Local})
	return s.State.newcomers(r, u, s.State.join(r, s.features(r, u.Models), s.features(r, centers)))
}
