package strategy

import (
	"math"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// CFL is clustered federated learning (Sattler et al., arXiv 1910.01991, Algorithms 1–3, and its tree for new clients): FedAvg
// within each cluster, and a cluster is split in two when its clients' updates are large but point in different directions.
// Models are [k, d], initially k = 1. In each cluster, over its clients in the round,
//
//	Δ̄ = Σ_i (n_i/N) Δ_i,   θ ← θ + Δ̄
//	split if ‖Δ̄‖ < ε₁, max_i ‖Δ_i‖ > ε₂, and √((1 − α)/2) > γ_max
//
// where α is the greatest cosine between updates of different parts. The bipartition minimizes α, which single linkage
// achieves. Both parts continue from θ, and may split again.
//
// A client absent from a split is placed when it is next selected: it trains from the model that the split's clients started
// from, and joins the part whose mean update has the greater cosine with its own; until then it uses the first part's model. An
// unseen client descends the whole tree of splits this way. The paper keeps every client's update, and compares with the
// nearest; here it is the mean update of each part, three rows per split.
//
// Suitable ε₁ and ε₂ depend on the model and the local work. Each round notes the "largest update" ‖Δ_i‖ and the "mean update"
// ‖Δ̄‖ of its cluster. Identity: with ε₁ = 0 it is FedAvg.
type CFL struct {
	Eps1      float64         `range:"[0,inf)" default:"0.4"` // ε₁: a cluster may be split if ‖mean Δ‖ is below it
	Eps2      float64         `range:"[0,inf)" default:"1.6"` // ε₂: … and the largest ‖Δ_i‖ is above it
	GammaMax  float64         `range:"[0,1)"`                 // γ_max: … and the parts differ enough; 0: always
	First     int             `range:"[1,inf)" default:"1"`   // first round that may split
	Complete  bool            // complete linkage, as in the authors' code: a single outlier is not split off
	Weighting Weighting       // default ByExamples, as in the paper; the authors' code has Equal
	Fraction  float64         // share of the clients in a round, in (0, 1]; default all
	Selector  fedkit.Selector // chooses the cohort; default uniformly at random
	Local     fedkit.Local    // local solver: E epochs, B examples per batch, η
	State     struct {
		Clustered
		Splits tree  // in order
		Passed []int // per client, how many of the first splits no longer concern it, [M]
	}
}

// Start draws one model for all.
func (s *CFL) Start(r *fedkit.Round) error {
	s.State.Clustered = Clustered{r.Models(1), make(cluster.Groups, r.Clients())}
	s.State.Splits, s.State.Passed = nil, make([]int, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *CFL) Round(r *fedkit.Round) error {
	st, before, passed := &s.State, s.State.Models, slices.Clone(s.State.Passed)
	u, in := s.train(r, r.Select(s.Selector, s.Fraction), st.Of, passed)
	step := u.Delta().Mix(in.Means(before.Rows(), Weights(r, u, s.Weighting, ByExamples{})))
	lengths, err := step.Norms()
	if r.Fail(err); err != nil {
		return r.Err()
	}
	farthest := make([]float64, len(lengths))
	for c := range farthest {
		for _, i := range in.Members(c) {
			farthest[c] = max(farthest[c], float64(u.Results[i].Drift))
		}
	}
	far := floats.MaxIdx(farthest)
	r.Note("largest update", farthest[far])
	r.Note("mean update", lengths[far])
	st.Models = before.Add(step)
	for c := range lengths {
		if r.T >= s.First && lengths[c] < s.Eps1 && farthest[c] > s.Eps2 {
			s.split(r, u, in, c, before.Take(c))
		}
	}
	for i, client := range u.Clients() { // a client whose update was skipped is placed later
		if st.Passed[client] = passed[client]; in[i] != cluster.None {
			st.Passed[client] = len(st.Splits)
		}
	}
	return r.Err()
}

// split splits cluster c, whose clients started from start, if the cosines allow. in is the cluster of each row of u.
func (s *CFL) split(r *fedkit.Round, u *fedkit.Updates, in cluster.Groups, c int, start *fedkit.Matrix) {
	rows, by := in.Members(c), cluster.Agglomerative{Linkage: cluster.Single}
	gram, err := u.Delta().Gram()
	if r.Fail(err); err != nil || len(rows) < 2 { // a single client cannot split
		return
	}
	if s.Complete {
		by.Linkage = cluster.Complete
	}
	apart := cluster.CosineDistances(gram, rows)
	parts := cluster.Groups(r.Cluster(by, cluster.FromDistances(apart), 2))
	if alpha := 1 - parts.Gap(apart); r.Err() != nil || !(math.Sqrt(max(0, 1-alpha)/2) > s.GammaMax) {
		return
	}
	st, of := &s.State, cluster.Ungrouped(len(in))
	of.Set(rows, parts)
	st.Splits = append(st.Splits, split{c, start, u.Delta().Mix(of.Means(2, nil))})
	st.Of.Split(take(u.Clients(), rows), parts, len(st.Splits))
	st.Models = fedkit.StackRows(st.Models, st.Models.Take(c))
}

// Serve gives every client the model of its cluster.
func (s *CFL) Serve(*fedkit.Round) fedkit.Serving { return s.State.serving(s.State.Of) }

// tree is CFL's splits, in order. The first part of split n keeps the cluster's number; the second becomes cluster n+1.
type tree []split

type split struct {
	Of           int
	Start, Parts *fedkit.Matrix // its clients' start model [1, d], and its parts' mean updates [2, d]
}

// missed returns the first split of cluster in that is not among the passed ones, or cluster.None.
func (t tree) missed(in, passed int) int {
	if n := slices.IndexFunc(t[passed:], func(s split) bool { return s.Of == in }); n >= 0 {
		return passed + n
	}
	return cluster.None
}

// train trains clients from their clusters' models. A client that missed a split trains from the split's start model, and joins
// the part whose mean update has the greater cosine with its own. in is the cluster that each row of u trained for, none for
// clients just placed.
func (s *CFL) train(r *fedkit.Round, clients []int, of cluster.Groups, passed []int) (u *fedkit.Updates, in cluster.Groups) {
	k, starts, parts := s.State.Models.Rows(), []*fedkit.Matrix{s.State.Models}, []*fedkit.Matrix(nil)
	for _, split := range s.State.Splits {
		starts, parts = append(starts, split.Start), append(parts, split.Parts)
	}
	from := take(of, clients) // rows of starts: the clusters' models, then the splits' start models
	for i, c := range clients {
		if n := s.State.Splits.missed(of[c], passed[c]); n != cluster.None {
			from[i], passed[c] = k+n, n+1
		}
	}
	u = r.Train(fedkit.Job{Clients: clients, Start: fedkit.StackRows(starts...).Take(from...), Local: s.Local})
	in = take(from, u.Positions)
	if slices.Max(in) < k {
		return u, in
	}
	along, err := u.Delta().Inner(unit(r, fedkit.StackRows(parts...))) // [n, 2 splits]
	r.Fail(err)
	for i, c := range u.Clients() {
		if n := in[i] - k; n >= 0 && r.Err() == nil {
			if in[i] = cluster.None; along.At(i, 2*n+1) > along.At(i, 2*n) {
				of[c] = n + 1
			}
		}
	}
	return u, in
}

// ServeUnseen sends unseen clients down the tree of splits.
func (s *CFL) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	of, passed := make(cluster.Groups, r.Clients()), make([]int, r.Clients())
	for {
		here := slices.DeleteFunc(r.AllClients(), func(i int) bool { return s.State.Splits.missed(of[i], passed[i]) == cluster.None })
		if len(here) == 0 || r.Err() != nil {
			return s.State.serving(of)
		}
		s.train(r, here, of, passed) // a client whose update was skipped stays in the first part
	}
}
