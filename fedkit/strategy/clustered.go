package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// Clustered is what an algorithm keeps that has k models and gives each client one of them. Those of its clusters that have a
// client are in use.
type Clustered struct {
	Models *fedkit.Matrix // w_c, [k, d]
	Of     cluster.Groups // by client, its cluster; −1 for none yet, [M]
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

// starts returns what clients train from, [n, d]: the model of their cluster, or the mean if they have none.
func (c *Clustered) starts(clients []int) *fedkit.Matrix {
	s := c.serving(take(c.Of, clients))
	return s.Models.Take(s.Assign...)
}

// serving gives clients in these clusters the models of their clusters, and the mean to a client that has none.
func (c *Clustered) serving(of cluster.Groups) fedkit.Serving {
	if !slices.Contains(of, cluster.None) {
		return fedkit.Serving{Models: c.Models, Assign: of, Clusters: of}
	}
	assign := slices.Clone(of)
	assign.Merge(cluster.None, c.Models.Rows()) // the row of the mean
	return fedkit.Serving{Models: fedkit.StackRows(c.Models, c.mean()), Assign: assign, Clusters: of, Centroids: c.Models}
}

// match gives clients their new clusters, under the names of those that they share most clients with. A cluster of clients
// that had none takes a name that nobody else has, if there is one. With grow there are as many names as it takes, and those
// not in use are dropped.
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
			floats.AddConst(0.5/float64(names), row) // less than a client, all together
		}
	}
	c.Of.Set(clients, take(cluster.Match(overlap), of))
	if grow {
		c.drop()
	}
}

// drop leaves the clusters in use alone. New ones get any model.
func (c *Clustered) drop() {
	used := c.Of.Pack()
	for i, k := range used {
		if k >= c.Models.Rows() {
			used[i] = 0
		}
	}
	c.Models = c.Models.Take(used...)
}

// join returns, for each row of x [n, d], the cluster in use with the nearest row of centers [k, d]; −1 if none is.
func (c *Clustered) join(r *fedkit.Round, x, centers *fedkit.Matrix) []int {
	used := c.Of.Names()
	if len(used) == 0 {
		return cluster.Ungrouped(x.Rows())
	}
	return take(used, nearest(r, x, centers.Take(used...)))
}

// newcomers serves clients that trained as newcomers, all of a federation or all but those that were skipped: the models of
// these clusters.
func (c *Clustered) newcomers(r *fedkit.Round, u *fedkit.Updates, of []int) fedkit.Serving {
	all := cluster.Ungrouped(r.Clients())
	all.Set(u.Clients(), of)
	return c.serving(all)
}

// fitsClustered refuses a federation with more clients than there is memory to cluster the models of.
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
