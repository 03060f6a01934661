package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// FeSEM is federated stochastic expectation maximization (Long et al., Multi-Center Federated Learning, arXiv 2005.01026,
// Algorithm 1): K centers W̃ [K, d], with each client assigned to the nearest one. In a round every client of S trains its
// center's model and returns W_i; then
//
//	E-step: r_i = argmin_k ‖W_i − W̃_k‖₂
//	M-step: W̃_k ← Σ_i [r_i = k] W_i / Σ_i [r_i = k]
//
// The first clusters are found by k-means of the first models, all trained from one initial model, or drawn at random, as in the
// paper's code. A center without clients does not change, and may win clients back. The paper has full participation; here only
// S takes part in both steps, and other clients keep their cluster. A client without a cluster trains the mean of the centers,
// and so does an unseen client, which then gets the center nearest to its model. Identity: K = 1 is FedAvg with equal weights.
type FeSEM struct {
	K         int             `range:"[1,inf)" default:"2"` // k, centers
	Random    bool            // draw the first clusters at random
	Weighting Weighting       // default Equal, as in the paper
	Fraction  float64         // share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector // chooses the cohort; default uniformly at random
	Local     fedkit.Local    // local solver: E epochs, B examples per batch, η
	Grouped
}

// Check implements fedkit.Checker.
func (s *FeSEM) Check(fed *fedkit.Federation, n int) error {
	return cmp.Or(fed.Fits("K", s.K, float64(s.K)), fed.FitsPairs("clients per round", n))
}

// Start draws one model for all.
func (s *FeSEM) Start(r *fedkit.Round) error {
	s.State.Clustered = Clustered{r.Models(1).Repeat(s.K), cluster.Ungrouped(r.Clients())}
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FeSEM) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.starts(S), Local: s.Local})
	of := s.nearest(r, u)
	s.State.Of.Set(u.Clients(), of)
	p := Weights(r, u, s.Weighting, Equal{})
	s.State.Models = meanByCluster(s.State.Models, u.Models, of, p)
	return r.Err()
}

// nearest is the E-step. While there are no clusters, it finds the first ones.
func (s *FeSEM) nearest(r *fedkit.Round, u *fedkit.Updates) []int {
	k := s.State.Models.Rows()
	switch {
	case len(s.State.Of.Names()) > 0:
		return nearest(r, u.Models, s.State.Models)
	case s.Random:
		of := r.Rand("centers").Perm(len(u.Results))
		for i := range of {
			of[i] %= k
		}
		return of
	}
	return r.Cluster(cluster.KMeans{}, r.Points(u.Models), k)
}

// ServeUnseen trains each unseen client from the mean of the centers, and gives it the nearest one.
func (s *FeSEM) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.mean(), Local: s.Local})
	return s.State.unseen(r, u, s.State.join(r, u.Models, s.State.Models))
}
