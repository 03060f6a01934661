package examples

import (
	"cmp"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// PACFL clusters clients by their data (Vahidian et al., arXiv 2209.10526). Before training, each sends the first p left singular
// vectors U_i of its examples as columns, once; then it is FedAvg within each cluster C, all of them from one initial model:
//
//	C_1, …, C_k ← tree of A, cut,  A_ij = Σ_l θ_l,  cos θ_l = σ_l(U_iᵀ U_j);   w_C ← Σ_{i∈C∩S} n_i w_i / Σ_{i∈C∩S} n_i
//
// U_i is of all classes; the paper's may be by class. Unseen clients choose w_C by loss. Identities: K = 1 is FedAvg, K = M LocalOnly.
type PACFL struct {
	P         int               `range:"[1,inf)" default:"3"` // p, vectors per client
	Angles    int               `range:"[1,inf)" default:"1"` // how many of the p principal angles θ_l A_ij sums, the smallest first
	K         int               `range:"[0,inf)"`             // k, clusters; 0: found by the clusterer, or else by silhouette
	Clusterer cluster.Clusterer // default cluster.Agglomerative with cluster.Average; Height is β, in radians
	Fraction  float64           // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local      // local solver: E epochs, B examples per batch, η
	State     struct {
		W  *fedkit.Matrix // w_C, [k, d]
		Of cluster.Groups // each client's cluster, [M]
	}
}

// Check implements fedkit.Checker.
func (s *PACFL) Check(f *fedkit.Federation, _ int) error { return f.FitsPairs("clients", f.Size()) }

// Start clusters the clients, and draws one model for all clusters.
func (s *PACFL) Start(r *fedkit.Round) error {
	A, U := cluster.NewCondensed(r.Clients()), make([]*mat.Dense, r.Clients())
	for i := range U {
		x, err := r.Fed.Rows(i, datasets.TrainPart)
		if err != nil {
			return err
		}
		U[i] = subspace(x, s.P)
		for j := range i {
			A.Set(i, j, angle(U[i], U[j], s.Angles))
		}
	}
	s.State.Of = r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{Linkage: cluster.Average}), cluster.FromDistances(A), s.K)
	s.State.W = r.Models(1).Repeat(slices.Max(s.State.Of) + 1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *PACFL) Round(r *fedkit.Round) error {
	if r.T == 1 {
		r.Send(r.AllClients(), []int{fedkit.Cloud}, float64(s.P*r.Fed.Data.Features())/float64(s.State.W.Cols()))
	}
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.W.Take(s.State.Of.Take(S...)...), Local: s.Local})
	s.State.W = s.State.W.Add(u.Delta().Mix(s.State.Of.Take(u.Clients()...).Means(s.State.W.Rows(), u.Examples()))) // + 0 without a client in S
	return r.Err()
}

// Serve gives every client the model of its cluster.
func (s *PACFL) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.W, Assign: s.State.Of, Clusters: s.State.Of}
}
