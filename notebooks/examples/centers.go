package examples

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// served gives every client its center, and the mean of the centers to a client without one. It is always there, so that nothing is
// compiled again.
func served(c strategy.Clustered) fedkit.Serving {
	of := slices.Clone(c.Of)
	of.Merge(cluster.None, c.Models.Rows())
	return fedkit.Serving{Models: fedkit.StackRows(c.Models, c.Models.Mean(nil)), Assign: of, Clusters: c.Of, Centroids: c.Models}
}

// starts are the models of some clients as served, [n, d].
func starts(c strategy.Clustered, clients []int) *fedkit.Matrix {
	sv := served(c)
	return sv.Models.Take(cluster.Groups(sv.Assign).Take(clients...)...)
}

// closest returns which center each of the first n points has the greatest cosine with, the first of equals. The other points are the
// centers, counted from 0.
func closest(p *cluster.Points, n int) []int {
	all, of := make([]int, p.Len()), make([]int, n)
	for i := range all {
		all[i] = i
	}
	d := cluster.CosineDistances(p.Gram(), all)
	for i := range of {
		for k := range p.Len() - n {
			if d.At(i, n+k) < d.At(i, n+of[i]) {
				of[i] = k
			}
		}
	}
	return of
}

// join trains those of S that are in no cluster from the initial model, and gives each the center g with the greatest cosine with its update.
func join(r *fedkit.Round, of cluster.Groups, S []int, g *fedkit.Matrix, local fedkit.Local) {
	news := slices.DeleteFunc(slices.Clone(S), func(i int) bool { return of[i] >= 0 })
	if len(news) == 0 {
		return
	}
	u := r.Train(fedkit.Job{Clients: news, Start: r.Models(1), Local: local, MaxClients: len(S)})
	if p := r.Points(fedkit.StackRows(u.Delta(), g)); r.Err() == nil {
		of.Set(u.Clients(), closest(p, len(u.Results)))
	}
}

// averaged returns the centers [k, d] after an M-step: each is the mean of its clients' models w [n, d], by weights (nil: equal ones). A
// center without clients does not change.
func averaged(centers, w *fedkit.Matrix, of cluster.Groups, weights []float64) *fedkit.Matrix {
	mean, stays := of.Means(centers.Rows(), weights), make([][]float64, centers.Rows())
	for k := range stays {
		if stays[k] = make([]float64, len(stays)); floats.Sum(mean[k]) == 0 {
			stays[k][k] = 1
		}
	}
	return w.Mix(mean).Add(centers.Mix(stays))
}
