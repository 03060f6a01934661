package strategy

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/internal/precision"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// tune merges and splits clusters (Algorithm 3), with weights p in the M-step. A single cluster stays whole if a half would have
// G < a or G ≥ 1. With a = 0, not even a single client's cluster, G = 0, is merged.
func (s *FedAC) tune(r *fedkit.Round, low *mat.Dense, p []float64) {
	one, omega := slices.Clone(s.State.Clusters), s.State.Omega
	if omega.Rows() == 1 {
		s.divide(r, 0, low)
		s.average(r, p)
	}
	g, apart := s.ratios(r)
	if omega.Rows() == 1 && !(len(g) == 2 && slices.Min(g) >= s.A && slices.Max(g) < 1) {
		s.State.Clusters, s.State.Omega = one, omega
		return
	}
	of, alone := s.State.Clusters, map[int]bool{}
	for c := range g {
		r.Note(fmt.Sprintf("G of %d", c), g[c])
		switch {
		case alone[c]:
		case g[c] < s.A && len(of.Names()) > 1:
			to := of.Nearest(c, apart)
			of.Merge(c, to)
			alone[to] = true
		case g[c] > s.B:
			s.divide(r, c, low)
		}
	}
	if r.Err() == nil {
		s.average(r, p)
	}
}

// divide splits a cluster by 2-means, if its clients differ.
func (s *FedAC) divide(r *fedkit.Round, c int, low *mat.Dense) {
	of := s.State.Clusters
	in := of.Members(c)
	of.Split(in, r.Cluster(cluster.KMeans{}, cluster.FromRows(low, in), 2), 1+slices.Max(of))
}

// fromOwn is ‖w_i − Ω_k‖² of every row w_i from its own center, [n, 1], in one pass over the models.
var fromOwn = fedkit.NewProgram("distances from own centers", func(a []*graph.Node) *graph.Node {
	own := graph.Gather(a[1], graph.InsertAxes(a[2], -1))
	return graph.ReduceAndKeep(graph.Square(graph.Sub(a[0], own)), graph.ReduceSum, 1)
})

// ratios returns G of every cluster, [k], and the distances between the Ω.
func (s *FedAC) ratios(r *fedkit.Round) (g []float64, apart *cluster.Condensed) {
	own := slices.Clone(s.State.Clusters)
	own.Merge(cluster.None, 0) // arbitrary: clients in no cluster do not count
	from, err := s.State.W.Apply(fromOwn, s.State.Omega, []int(own)).Host()
	r.Fail(err)
	if apart = r.Points(s.State.Omega).Distances(); r.Err() != nil {
		return nil, nil
	}
	return s.State.Clusters.Ratios(precision.Double(from), apart), apart
}
