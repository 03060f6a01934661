package strategy

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// CFL is clustered federated learning (Sattler et al., arXiv 1910.01991, Algorithms 1–3, and its tree for new clients):
// FedAvg within each cluster, and a cluster whose clients want to go far in different directions is split in two. Models are
// [k, d], k = 1 at first; of the round's clients of each cluster,
//
//	Δ̄ = Σ_i (n_i/N) Δ_i,   θ ← θ + Δ̄
//	split if ‖Δ̄‖ < ε₁, max_i ‖Δ_i‖ > ε₂, and √((1 − α)/2) > γ_max
//
// where α is the greatest cosine between an update of one part and one of the other. The parts are those with the least α,
// which single linkage finds. Both go on from θ, and may split again.
//
// A client that took no part in a split is placed when it is next selected. It then trains the model that was split, and goes
// with the part whose updates its own is more similar to; until then it uses the first part's model. A client that never took
// part is taken down the whole tree of splits like this. The paper keeps every client's update, and compares with the nearest;
// here it is the mean update of each part, three rows per split.
//
// Which ε₁ and ε₂ suit depends on the model and the local work. The record notes the "largest update" ‖Δ_i‖ of each round and
// the "mean update" ‖Δ̄‖ of its cluster. Identity: with ε₁ = 0 it is FedAvg.
type CFL struct {
	Eps1     float64         `range:"[0,inf)" default:"0.4"` // ε₁: a cluster may be split if ‖mean Δ‖ is below it
	Eps2     float64         `range:"[0,inf)" default:"1.6"` // ε₂: … and the largest ‖Δ_i‖ is above it
	GammaMax float64         `range:"[0,1)"`                 // γ_max: … and the parts differ enough; 0: always
	First    int             `range:"[1,inf)" default:"1"`   // first round with a split
	Complete bool            // parts by complete linkage, as in the authors' code: one unusual client is no part
	Fraction float64         // share of the clients in a round, in (0, 1]; default all
	Selector fedkit.Selector // who takes part; default uniformly at random
	Local    fedkit.Local    // local solver: E epochs, B examples per batch, η
	State    struct {
		Models  *fedkit.Matrix // one per cluster, [k, d]
		Cluster []int          // by client, [M]
		Splits  []split        // the first part keeps its number, the second is 1 + the split's
		Passed  []int          // by client, how many of the splits it needs not be placed in, [M]
	}
}

// split is a cluster that was split.
type split struct {
	Of           int
	Start, Parts *fedkit.Matrix // what its clients started from [1, d], and the mean updates of its two parts [2, d]
}

// Start draws one model for all.
func (s *CFL) Start(r *fedkit.Round) error {
	s.State.Models, s.State.Splits = r.Models(1), nil
	s.State.Cluster, s.State.Passed = make([]int, r.Clients()), make([]int, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *CFL) Round(r *fedkit.Round) error {
	st := &s.State
	S, k, before := r.Select(s.Selector, s.Fraction), st.Models.Rows(), st.Models
	in := take(st.Cluster, S) // the model that each trains: its cluster's, or k + the number of a split
	for i, c := range S {
		if n := s.missed(st.Cluster[c], st.Passed[c]); n >= 0 {
			in[i] = k + n
		}
	}
	u := r.Train(fedkit.Job{Clients: S, Start: fedkit.StackRows(append([]*fedkit.Matrix{before}, s.starts()...)...).Take(in...), Local: s.Local})
	in = take(in, u.At)
	farthest, missed := make([]float64, k), make([]int, len(in))
	for i, c := range in {
		if missed[i] = c - k; c < k {
			farthest[c] = max(farthest[c], float64(u.Solves[i].Drift))
		}
	}
	step := u.Delta().Mix(toMeans(members(in, k, u.Examples())))
	lengths, err := step.Norms()
	if r.Fail(err); err != nil {
		return r.Err()
	}
	far := floats.MaxIdx(farthest)
	r.Note("largest update", farthest[far])
	r.Note("mean update", lengths[far])
	st.Models = before.Add(step)
	for c, length := range lengths {
		if r.T >= s.First && length < cmp.Or(s.Eps1, 0.4) && farthest[c] > cmp.Or(s.Eps2, 1.6) {
			s.split(r, u, before, in, c)
		}
	}
	for i, c := range u.Clients() {
		if missed[i] < 0 {
			st.Passed[c] = len(st.Splits)
		}
	}
	s.place(r, u, missed, st.Cluster, st.Passed)
	return r.Err()
}

// split splits the cluster c, if the cosines allow; row i of u is of a client in the cluster in[i].
func (s *CFL) split(r *fedkit.Round, u *fedkit.Updates, before *fedkit.Matrix, in []int, c int) {
	delta := u.Delta()
	gram, err := delta.Gram()
	if err != nil {
		r.Fail(err)
		return
	}
	var rows []int
	for i := range in {
		if in[i] == c {
			rows = append(rows, i)
		}
	}
	part, alpha := s.bipartition(r, gram, rows)
	if r.Err() != nil || !(math.Sqrt(max(0, 1-alpha)/2) > s.GammaMax) {
		return
	}
	st := &s.State
	of := nobody(len(in))
	for at, i := range rows {
		if of[i] = part[at]; of[i] == 1 {
			st.Cluster[u.Solves[i].Client] = st.Models.Rows()
		}
	}
	st.Splits = append(st.Splits, split{c, before.Take(c), delta.Mix(toMeans(members(of, 2, nil)))})
	st.Models = fedkit.StackRows(st.Models, st.Models.Take(c))
}

// Serve gives every client the model of its cluster.
func (s *CFL) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Models, Assign: s.State.Cluster, Clusters: s.State.Cluster}
}
