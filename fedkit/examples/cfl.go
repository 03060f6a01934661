package examples

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
)

// CFL is clustered federated learning (Sattler et al., arXiv 1910.01991, Algorithm 3, without its bound on the cosine):
// FedAvg within each cluster. A cluster whose clients want to go far in different directions is split in two: if
// ‖Σ_i (n_i/N) Δ_i‖ < ε₁ and max_i ‖Δ_i‖ > ε₂. Models are [k, d], k = 1 at first. Identity: with ε₁ = 0 it is FedAvg.
type CFL struct {
	Local fedkit.Local // E, B, η
	Eps1  float64      `range:"[0,inf)" default:"0.4"` // ε₁
	Eps2  float64      `range:"[0,inf)" default:"1.6"` // ε₂
	State struct {
		Models  *fedkit.Matrix
		Cluster []int // by client, [M]
	}
}

// Start draws one model for all.
func (s *CFL) Start(r *fedkit.Round) error {
	s.State.Models, s.State.Cluster = r.Models(1), make([]int, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *CFL) Round(r *fedkit.Round) error {
	st, near, far := &s.State, cmp.Or(s.Eps1, 0.4), cmp.Or(s.Eps2, 1.6)
	u := r.Train(fedkit.Job{Clients: r.Everyone(), Start: st.Models.Take(st.Cluster...), Local: s.Local})
	for c := range st.Models.Rows() {
		n, farthest := u.Examples(), 0.0
		for i, solve := range u.Solves {
			if st.Cluster[solve.Client] == c {
				farthest = max(farthest, float64(solve.Drift))
			} else {
				n[i] = 0
			}
		}
		if slices.Max(n) == 0 { // all of them were skipped
			continue
		}
		step := u.Delta().Mean(n)
		length, err := step.Norms()
		r.Fail(err)
		st.Models = st.Models.Put([]int{c}, st.Models.Take(c).Add(step))
		if err == nil && length[0] < near && farthest > far {
			second := bipartition(r, u.Delta(), n)
			for _, i := range second {
				st.Cluster[u.Solves[i].Client] = st.Models.Rows()
			}
			if second != nil { // one client alone has nobody to leave
				st.Models = fedkit.StackRows(st.Models, st.Models.Take(c))
			}
		}
	}
	return r.Err()
}

// Serve gives every client the model of its cluster.
func (s *CFL) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Models, Assign: s.State.Cluster, Clusters: s.State.Cluster}
}
