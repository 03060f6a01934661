package examples

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// HierFAVG is hierarchical federated averaging (Liu et al., arXiv 1905.06641, Algorithm 1). In a round, each edge server ℓ averages
// the models of its own clients S_ℓ κ2 times, starting with x_ℓ = x, and then the cloud averages those of the edges:
//
//	w_i ← κ1 steps on f_i from x_ℓ,  x_ℓ ← Σ_{i∈S_ℓ} n_i w_i / N_ℓ,  N_ℓ = Σ_{i∈S_ℓ} n_i,    κ2 times
//	x   ← Σ_ℓ N_ℓ x_ℓ / N.
//
// Client i is one of edge i mod Edges. Edges do not wait for each other, and one without clients in S has no part. x is [1, d].
// Identity: with κ2 = 1 it is FedAvg, whose models take the way through the edges.
type HierFAVG struct {
	Edges    int          `range:"[1,inf)" default:"2"` // number of edge servers
	Kappa2   int          `range:"[1,inf)" default:"2"` // κ2
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // κ1 steps, or epochs
	strategy.State
}

// edges returns the edge of each client, those edges as ends of links, and these without duplicates.
func (s *HierFAVG) edges(clients []int) (edges, ends, servers []int) {
	for _, c := range clients {
		edges, ends = append(edges, c%s.Edges), append(ends, fedkit.Edge(c%s.Edges))
	}
	servers = slices.Sorted(slices.Values(ends))
	return edges, ends, slices.Compact(servers)
}

// Round implements fedkit.Strategy.
func (s *HierFAVG) Round(r *fedkit.Round) error {
	S, x, N := r.Select(nil, s.Fraction), s.X.Repeat(s.Edges), make([]float64, s.Edges)
	edges, ends, servers := s.edges(S)
	r.Send([]int{fedkit.Cloud}, servers, 1)
	for range s.Kappa2 {
		r.Send(ends, S, 1)
		u := r.Train(fedkit.Job{Clients: S, Start: x.Take(edges...), Local: s.Local, Relayed: true})
		S = u.Clients()
		edges, ends, servers = s.edges(S)
		r.Send(S, ends, 1)
		for l := range N {
			n := u.Examples()
			for i, edge := range edges {
				if edge != l {
					n[i] = 0
				}
			}
			if N[l] = floats.Sum(n); N[l] > 0 {
				x = x.Put([]int{l}, u.Models.Mean(n))
			}
		}
	}
	r.Send(servers, []int{fedkit.Cloud}, 1)
	s.X = x.Mean(N)
	return r.Err()
}
