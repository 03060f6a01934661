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
	Of     []int          // by client, its cluster; −1 for none yet, [M]
}

// nobody returns m clients without a cluster.
func nobody(m int) []int { return slices.Repeat([]int{-1}, m) }

// inUse returns the clusters that have a client, in ascending order.
func inUse(of []int) []int {
	used := slices.Compact(slices.Sorted(slices.Values(of)))
	if used[0] < 0 {
		used = used[1:]
	}
	return used
}

func (c *Clustered) inUse() []int { return inUse(c.Of) }

// mean returns the mean of the models in use, or of all if none is, [1, d].
func (c *Clustered) mean() *fedkit.Matrix {
	used := c.inUse()
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
func (c *Clustered) serving(of []int) fedkit.Serving {
	if !slices.Contains(of, -1) {
		return fedkit.Serving{Models: c.Models, Assign: of, Clusters: of}
	}
	assign := slices.Clone(of)
	for i := range assign {
		if assign[i] < 0 {
			assign[i] = c.Models.Rows()
		}
	}
	return fedkit.Serving{Models: fedkit.StackRows(c.Models, c.mean()), Assign: assign, Clusters: of, Centroids: c.Models}
}

// set gives clients their clusters.
func (c *Clustered) set(clients, of []int) {
	for i, k := range of {
		c.Of[clients[i]] = k
	}
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
		c.Of[client] = -1
	}
	others := c.inUse()
	for old, row := range overlap {
		if !slices.Contains(others, old) {
			floats.AddConst(0.5/float64(names), row) // less than a client, all together
		}
	}
	c.set(clients, take(cluster.Match(overlap), of))
	if grow {
		c.drop()
	}
}

// drop leaves the clusters in use alone. New ones get any model.
func (c *Clustered) drop() {
	used := c.inUse()
	for i, k := range c.Of {
		if k >= 0 {
			c.Of[i] = slices.Index(used, k)
		}
	}
	for i, k := range used {
		if k >= c.Models.Rows() {
			used[i] = 0
		}
	}
	c.Models = c.Models.Take(used...)
}

// join returns, for each row of x [n, d], the cluster in use with the nearest row of centers [k, d]; −1 if none is.
func (c *Clustered) join(r *fedkit.Round, x, centers *fedkit.Matrix) []int {
	used := c.inUse()
	if len(used) == 0 {
		return nobody(x.Rows())
	}
	return take(used, nearest(r, x, centers.Take(used...)))
}

// newcomers serves clients that trained as newcomers, all of a federation or all but those that were skipped: the models of
// these clusters.
func (c *Clustered) newcomers(r *fedkit.Round, u *fedkit.Updates, of []int) fedkit.Serving {
	all := Clustered{Of: nobody(r.Clients())}
	all.set(u.Clients(), of)
	return c.serving(all.Of)
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
