package examples

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/strategy"
)

// FedGroup clusters clients once, by their first updates (Duan et al., arXiv 2010.06870). In round 1, a cohort of 20 K clients trains from
// one model x, and v_1, …, v_K are the first left singular vectors of the matrix whose columns are their updates Δ_i:
//
//	C_1, …, C_K ← k-means of e_i = (cos(Δ_i, v_1), …, cos(Δ_i, v_K));   g_k ← Σ_{i∈C_k} n_i Δ_i / Σ_{i∈C_k} n_i;   w_k ← x + g_k
//
// From then on it is FedAvg within each cluster. A client that is chosen for the first time, and an unseen one, trains from x and joins the
// cluster whose g_k has the greatest cosine with its update. In CFLA 1.0.4, FedGroup is another rule: a tree of the cosines of models.
// Identities: with all clients in round 1 and later, K = 1 is FedAvg, and K = M LocalOnly.
type FedGroup struct {
	K        int          `range:"[1,inf)" default:"3"`    // K, clusters
	Cold     int          `range:"[1,inf)" default:"20 K"` // clients of the first round, at most
	Fraction float64      // share of the clients in the other rounds, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	State    struct {
		strategy.Clustered
		G *fedkit.Matrix // g_k, [K, d]
	}
}

// Start draws one model for all.
func (s *FedGroup) Start(r *fedkit.Round) error {
	s.State.Models, s.State.Of = r.Models(1).Repeat(s.K), cluster.Ungrouped(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedGroup) Round(r *fedkit.Round) error {
	if r.T == 1 {
		return s.group(r, r.Select(nil, min(1, float64(cmp.Or(s.Cold, 20*s.K))/float64(r.Clients()))))
	}
	S, st := r.Select(nil, s.Fraction), &s.State
	join(r, st.Of, S, st.G, s.Local)
	u := r.Train(fedkit.Job{Clients: S, Start: starts(st.Clustered, S), Local: s.Local})
	st.Models = averaged(st.Models, u.Models, st.Of.Take(u.Clients()...), u.Examples())
	return r.Err()
}

// group is the first round.
func (s *FedGroup) group(r *fedkit.Round, S []int) error {
	u := r.Train(fedkit.Job{Clients: S, Start: r.Models(1), Local: s.Local})
	if p := r.Points(u.Delta()); r.Err() == nil {
		of := r.Cluster(cluster.KMeans{}, decomposed(p.Gram(), s.K), s.K)
		s.State.Of.Set(u.Clients(), of)
		s.State.G = averaged(s.State.Models.Scale(0), u.Delta(), of, u.Examples())
		s.State.Models = s.State.Models.Add(s.State.G)
	}
	return r.Err()
}

// Serve gives every client the model of its cluster.
func (s *FedGroup) Serve(*fedkit.Round) fedkit.Serving { return served(s.State.Clustered) }

// ServeUnseen gives each unseen client the model of the cluster that it joins.
func (s *FedGroup) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	of := cluster.Ungrouped(r.Clients())
	join(r, of, r.AllClients(), s.State.G, s.Local)
	return served(strategy.Clustered{Models: s.State.Models, Of: of})
}
