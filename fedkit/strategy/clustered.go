package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// Clustered is the state of an algorithm with k models, one per cluster, each client in one of them. Clusters with a client are
// in use.
type Clustered struct {
	Models *fedkit.Matrix // w_c, [k, d]
	Of     cluster.Groups // each client's cluster, −1 for none yet, [M]
}

// Grouped has the State of an algorithm that clusters its clients once. An algorithm that embeds it starts with all clients in one
// cluster, with one fresh model, and serves every client the model of its cluster.
type Grouped struct{ State struct{ Clustered } }

// Check rejects a federation with too many clients to compare all pairs of them.
func (s *Grouped) Check(fed *fedkit.Federation, _ int) error { return fitsClustered(fed) }

// Start draws one model for all.
func (s *Grouped) Start(r *fedkit.Round) error {
	s.State.Clustered = Clustered{r.Models(1), make(cluster.Groups, r.Clients())}
	return r.Err()
}

// Serve gives every client the model of its cluster, and the mean to a client without one.
func (s *Grouped) Serve(*fedkit.Round) fedkit.Serving { return s.State.serving(s.State.Of) }

// divide gives clients their clusters, and each cluster the first model.
func (c *Clustered) divide(clients, labels []int) {
	c.Of.Set(clients, labels)
	c.Models = c.Models.Take(0).Repeat(slices.Max(labels) + 1)
}

// step is a round of FedAvg within each cluster, w_c ← Σ_{i∈c∩S} p_i w_i / Σ_{i∈c∩S} p_i. A cluster without a client in S keeps its model.
func (c *Clustered) step(r *fedkit.Round, S []int, local fedkit.Local, by, usual Weighting) *fedkit.Updates {
	u := r.Train(fedkit.Job{Clients: S, Start: c.starts(S), Local: local})
	c.Models = meanByCluster(c.Models, u.Models, take(c.Of, u.Clients()), Weights(r, u, by, usual))
	return u
}

// mean returns the mean of the models in use, or of all if none is, [1, d].
func (c *Clustered) mean() *fedkit.Matrix {
	used := c.Of.Names()
	if len(used) == 0 {
		return c.Models.Mean(nil)
	}
	weights := make([]float64, c.Models.Rows())
	for _, k := range used {
		weights[k] = 1
	}
	return c.Models.Mean(weights)
}

// starts returns the clients' start models, [n, d]: that of their cluster, or the mean without one.
func (c *Clustered) starts(clients []int) *fedkit.Matrix {
	s := c.serving(take(c.Of, clients))
	return s.Models.Take(s.Assign...)
}

// serving serves clients in the given clusters their clusters' models, and clients without a cluster the mean.
func (c *Clustered) serving(of cluster.Groups) fedkit.Serving {
	if !slices.Contains(of, cluster.None) {
		return fedkit.Serving{Models: c.Models, Assign: of, Clusters: of}
	}
	assign := slices.Clone(of)
	assign.Merge(cluster.None, c.Models.Rows()) // the row of the mean
	return fedkit.Serving{Models: fedkit.StackRows(c.Models, c.mean()), Assign: assign, Clusters: of, Centroids: c.Models}
}

// match assigns clients to their new clusters, numbered like the old clusters of greatest overlap. A cluster of clients without
// an old one takes a number not in use, if there is one. With grow, numbers are added as needed, and clusters not in use are
// dropped.
func (c *Clustered) match(clients, of []int, grow bool) {
	names, news := c.Models.Rows(), slices.Max(of)+1
	if grow {
		names += news
	}
	overlap := make([][]float64, names) // [names][news]
	for old := range overlap {
		overlap[old] = make([]float64, news)
	}
	for i, client := range clients {
		if old := c.Of[client]; old >= 0 {
			overlap[old][of[i]]++
		}
		c.Of[client] = cluster.None
	}
	others := c.Of.Names()
	for old, row := range overlap {
		if !slices.Contains(others, old) {
			floats.AddConst(0.5/float64(names), row) // in total less than one client
		}
	}
	c.Of.Set(clients, take(cluster.Match(overlap), of))
	if grow {
		c.drop()
	}
}

// drop removes the clusters not in use. New ones get any model.
func (c *Clustered) drop() {
	used := c.Of.Pack()
	for i, k := range used {
		if k >= c.Models.Rows() {
			used[i] = 0
		}
	}
	c.Models = c.Models.Take(used...)
}

// join returns, for each row of x [n, d], the cluster in use with the nearest row of centers [k, d], or −1.
func (c *Clustered) join(r *fedkit.Round, x, centers *fedkit.Matrix) []int {
	used := c.Of.Names()
	if len(used) == 0 {
		return cluster.Ungrouped(x.Rows())
	}
	return take(used, nearest(r, x, centers.Take(used...)))
}

// unseen serves unseen clients, trained as u, the models of their clusters of; skipped clients get the mean.
func (c *Clustered) unseen(r *fedkit.Round, u *fedkit.Updates, of []int) fedkit.Serving {
	all := cluster.Ungrouped(r.Clients())
	all.Set(u.Clients(), of)
	return c.serving(all)
}

// fitsClustered rejects a federation with too many clients to cluster their models in memory.
func fitsClustered(fed *fedkit.Federation) error {
	return cmp.Or(fed.Fits("clients", fed.Size(), float64(fed.Size())), fed.FitsPairs("clients", fed.Size()))
}

// nearest returns, for each row of x [n, d], the row of centers [k, d] at the least Euclidean distance, the first of equals.
func nearest(r *fedkit.Round, x, centers *fedkit.Matrix) []int {
	at := make([]int, x.Rows())
	points := r.Points(fedkit.StackRows(x, centers))
	if r.Err() != nil {
		return at
	}
	d, n := points.Distances(), x.Rows()
	for i := range at {
		for k := range centers.Rows() {
			if d.At(i, n+k) < d.At(i, n+at[i]) {
				at[i] = k
			}
		}
	}
	return at
}

// take returns the values at the given positions.
func take[T any](values []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = values[j]
	}
	return out
}

// meanByCluster returns the models [k, d] after averaging the clients' rows u [n, d] within their clusters, with the
// given weights (nil: equal ones). A cluster without a client keeps its model.
func meanByCluster(models, u *fedkit.Matrix, of cluster.Groups, weights []float64) *fedkit.Matrix {
	return remix(models, u, of.Means(models.Rows(), weights))
}

// remix returns mixtures of u [n, d] with weights mix [k, n] to replace models [k, d]. A model all of whose weights are 0 stays.
func remix(models, u *fedkit.Matrix, mix [][]float64) *fedkit.Matrix {
	stays := make([][]float64, len(mix)) // [k, k]
	for j, row := range mix {
		if stays[j] = make([]float64, len(mix)); floats.Sum(row) == 0 {
			stays[j][j] = 1
		}
	}
	return u.Mix(mix).Add(models.Mix(stays))
}
