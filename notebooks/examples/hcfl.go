package examples

import (
	"cmp"
	"math"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/strategy"
)

// HCFL clusters once, by the updates of the embeddings, and finds the number of clusters. A model is an embedding φ and a head, w = (φ, h).
// After R rounds of FedAvg, all clients train once from x, and x stays:
//
//	C_1, …, C_K ← tree of 1 − cos(δ_i, δ_j), cut,  δ_i = φ_i − φ;  Ω_k ← x
//
// From then on, in the rounds t = 0, 1, …, the clusters share less and less of their embeddings:
//
//	w_i ≈ argmin_w f_i(w) + (μ/2)‖w − Ω_k‖², i ∈ C_k ∩ S;   Φ ← Σ_{i∈S} (n_i/N) φ_i
//	Ω_k ← Σ_{C_k∩S} n_i w_i / Σ_{C_k∩S} n_i, its embedding moved toward Φ by the share λ_t = λ_0/(1 + αt)^p
//
// A cluster without a client in S keeps Ω_k. Unseen clients choose Ω_k by loss. Identity: with μ = λ_0 = 0 and the same clusters, as with
// K = 1, it is FLHC.
// Source: the Python package CFLA 1.0.4, in which all clients of a cluster have one weight.
type HCFL struct {
	Warmup    int               `range:"[1,inf)" default:"5"` // R, rounds of FedAvg
	K         int               `range:"[0,inf)"`             // clusters; 0: found by the clusterer, or else by silhouette
	Clusterer cluster.Clusterer // default cluster.Agglomerative{Linkage: cluster.Average, Height: 0.5}
	Mu        float64           `range:"[0,inf)" default:"1"`   // μ, pull of Ω_k
	Lambda    float64           `range:"[0,1]" default:"1"`     // λ_0, the first share of Φ
	Alpha     float64           `range:"[0,inf)" default:"0.1"` // α, how fast the share falls
	Power     float64           `range:"[0,inf)" default:"1"`   // p, in which power
	Head      []string          // layers of the head, as in Task.Mask; default the last
	Fraction  float64           // share of the clients in the other rounds, in (0, 1]; default all
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η; Mu replaces its Prox
	strategy.Grouped
}

// Check implements fedkit.Checker.
func (s *HCFL) Check(f *fedkit.Federation, _ int) error { return checkHead(f, s.Head) }

// Round implements fedkit.Strategy.
func (s *HCFL) Round(r *fedkit.Round) error {
	phi, _ := embedding(r, s.Head)
	if r.T == s.Warmup+1 {
		u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.Models, Local: s.Local})
		if p := r.Points(u.Delta().Mul(phi)); r.Err() == nil {
			by := cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Average, Height: 0.5})
			of := r.Cluster(by, cluster.FromDistances(cluster.CosineDistances(p.Gram(), r.AllClients()[:p.Len()])), s.K)
			s.State.Of.Set(u.Clients(), of)
			s.State.Models = s.State.Models.Repeat(slices.Max(of) + 1)
		}
		return r.Err()
	}
	mu, share := s.Mu, s.Lambda/math.Pow(1+s.Alpha*float64(r.T-s.Warmup-2), s.Power)
	if r.T <= s.Warmup {
		mu, share = 0, 0
	}
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: starts(s.State.Clustered, S), Local: s.Local, Pulls: []fedkit.Pull{{Weight: mu}}})
	w := toward(u.Models, u.Models.Mean(u.Examples()), phi, share)
	s.State.Models = averaged(s.State.Models, w, s.State.Of.Take(u.Clients()...), u.Examples())
	return r.Err()
}
