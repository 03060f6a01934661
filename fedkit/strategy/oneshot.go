package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// OneShot clusters once (Ghosh et al., arXiv 2006.04088, the one-shot algorithm that they compare IFCA with). In the first
// round every client trains for long, all from the same model, toward the minimizer of its own loss; the server clusters these
// models w̃_i,
//
//	w̃_i ≈ argmin F_i;   C_1, …, C_k ← clusters of {w̃_i};   θ_j ← Σ_{i∈C_j} n_i w̃_i / Σ_{i∈C_j} n_i
//
// and from the second round on it is FedAvg within each cluster, from θ [k, d]. The paper does not say where the clusters'
// models start: here, at the centers. A cluster without a client in a round keeps its model. A client whose first update was
// skipped, or that is unseen, uses the model with the lowest loss on its training examples. Identity: with K = 1 and WorkFactor = 1
// it is FedAvg.
type OneShot struct {
	K          int               `range:"[1,inf)" default:"one found by the clusterer, or by silhouette"` // k, clusters
	Clusterer  cluster.Clusterer // default cluster.KMeans
	WorkFactor int               `range:"[1,inf)" default:"10"` // factor on the work of Local in the first round
	Weighting  Weighting         // default ByExamples; the paper leaves it open
	Fraction   float64           // share of the clients in later rounds, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort of later rounds; default uniformly at random
	Local      fedkit.Local      // local solver: E epochs, B examples per batch, η
	Grouped
}

// Round implements fedkit.Strategy.
func (s *OneShot) Round(r *fedkit.Round) error {
	if r.T == 1 {
		s.cluster(r)
	} else {
		s.State.step(r, r.Select(s.Selector, s.Fraction), s.Local, s.Weighting, ByExamples{})
	}
	return r.Err()
}

// cluster runs the first round.
func (s *OneShot) cluster(r *fedkit.Round) {
	st, local := &s.State, s.Local.WithDefaults()
	local.Epochs *= s.WorkFactor
	local.Steps *= s.WorkFactor
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: st.Models, Local: local})
	labels := r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.KMeans{}), r.Points(u.Models), s.K)
	st.Models = meanByCluster(st.Models.Repeat(slices.Max(labels)+1), u.Models, labels, Weights(r, u, s.Weighting, ByExamples{}))
	left := slices.DeleteFunc(r.AllClients(), func(i int) bool { return slices.Contains(u.Clients(), i) })
	if len(left) > 0 {
		labels = append(labels, r.LowestLoss(st.Models, left)...)
	}
	st.Of.Set(append(u.Clients(), left...), labels)
}
