package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

// PCA returns the scatter plot of clients by what is clustered: points, such as their updates, on their first two principal
// components; Show draws it. The axes' titles have the explained variance. Colors are clusters, labels [n]; without them all have
// one color. True groups [n], if given, are a second plot of the same points, next to it. A cluster has the color of
// the group that agrees with it best.
//
// Errors: no points, points that are not finite or all the same, numbers of labels or true groups that do not go with them.
func PCA(p *cluster.Points, labels []int, truth ...int) chart.Row {
	return makeRow("plot: PCA", func() (chart.Row, error) { return clientMaps(p, labels, truth) })
}

// makeRow is chart.Make for a row.
func makeRow(what string, build func() (chart.Row, error)) (row chart.Row) {
	failed := chart.Make(what, func(*chart.Figure) (err error) { row, err = build(); return err })
	if row == nil {
		return chart.Row{failed}
	}
	return row
}

// clientMaps is the map by cluster and, if these are known, that by true group.
func clientMaps(p *cluster.Points, labels, truth []int) (chart.Row, error) {
	at, share, err := project(p)
	if err != nil {
		return nil, err
	}
	if err := checkGroups(p.Len(), labels, truth); err != nil {
		return nil, err
	}
	f, g := clientMap(at, share), clientMap(at, share)
	f.Title = "Clients on two principal components"
	f.Series = spots(at, labels, clusterName, "no cluster", likeGroups(labels, truth))
	if len(truth) == 0 {
		return chart.Row{f}, nil
	}
	f.Title, g.Title = f.Title+", by cluster", "by true group"
	g.Series = spots(at, truth, groupName, "no group", likeGroups(truth, nil))
	f.Width, g.Width = 380, 380
	return chart.Row{f, g}, nil
}

// clientMap is the figure without its points.
func clientMap(at *mat.Dense, share [2]float64) *chart.Figure {
	title := func(k int, what string) chart.Axis {
		return chart.Axis{Title: fmt.Sprintf("%s component (%.1f %% of the variance)", what, 100*share[k])}
	}
	return &chart.Figure{Name: "pca", Point: "client", X: title(0, "first"), Y: title(1, "second"), Height: 340, Width: 480}
}

// spots returns a series of dots for each label, and one for the clients without.
func spots(at *mat.Dense, labels []int, name func(int) string, none string, as map[int]int) (all []chart.Series) {
	n, _ := at.Dims()
	for _, l := range append(distinct(labels), -1) {
		s := chart.Series{Name: none, Color: gray, Mark: chart.Dots, Opacity: 1}
		switch {
		case l >= 0:
			s.Name, s.Color = name(l), as[l]+1
		case len(labels) == 0:
			s.Name, s.Color = "clients", 0
		}
		for i := range n {
			if of(labels, i) == l {
				s.X, s.Y, s.Tip = append(s.X, at.At(i, 0)), append(s.Y, at.At(i, 1)), append(s.Tip, fmt.Sprint(i))
			}
		}
		if len(s.X) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// gray is the place of a gray in the palette of package chart.
const gray = 14

// project returns the points on their first two principal components, [n, 2], and the shares of the variance along them.
func project(p *cluster.Points) (at *mat.Dense, share [2]float64, err error) {
	gram, err := inner(p, (*cluster.Points).Centered)
	if err != nil {
		return nil, share, err
	}
	if at, err = cluster.PCA(p, 2); err != nil {
		return nil, share, err
	}
	all := mat.Trace(gram) - mat.Sum(gram)/float64(p.Len()) // squared distances from the mean
	if !(all > 1e-12*mat.Trace(gram)) {
		return nil, share, errors.New("all points are the same: there is nothing to lay out on axes")
	}
	for k := range share {
		axis := at.ColView(k)
		share[k] = mat.Dot(axis, axis) / all
	}
	return at, share, nil
}

// PCAs returns PCA of several rounds, in rising order, with a slider from one to the next; Show draws it. The last round is seen first. A
// cluster keeps its color, as in Clusters. The components of each round are turned or mirrored, as a whole, to where the same clients were
// in the round after it (Procrustes), so that what moves is the clients. The note has the share of the variance that they explain.
//
// Errors: those of PCA, rounds that do not rise, numbers of points that differ.
func PCAs(moments []Moment, truth ...int) chart.Row {
	return makeRow("plot: PCAs", func() (chart.Row, error) {
		labels, at, err := follow(moments, truth)
		if err != nil {
			return nil, err
		}
		rows := make([]chart.Row, 2)
		var next *mat.Dense
		for i, m := range slices.Backward(moments) {
			where, share, err := project(m.Points)
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", m.Round, err)
			}
			where = turned(where, next)
			next = where
			for k, by := range [][]int{labels[i], truth} {
				if k == 1 && len(truth) == 0 {
					rows = rows[:1]
					break
				}
				f, name, none := clientMap(where, share), clusterName, "no cluster"
				f.X.Title, f.Y.Title = "first component", "second component"
				f.Title, f.Width = fmt.Sprintf("Round %d, by cluster", m.Round), 380
				f.Note = fmt.Sprintf("%.0f %% of the variance", 100*(share[0]+share[1]))
				if k == 1 {
					f.Title, f.Note, name, none = "by true group", "", groupName, "no group"
				}
				as := map[int]int{}
				for _, l := range by {
					as[l] = l
				}
				f.Series = spots(where, by, name, none, as)
				rows[k] = append(rows[k], f)
			}
		}
		var row chart.Row
		for _, r := range rows {
			slices.Reverse(r)
			row = append(row, r.Slider("round", at...))
		}
		return row, nil
	})
}

// turned turns or mirrors points [n, 2] about the origin so that they are as near as can be to others (orthogonal Procrustes).
func turned(at, to *mat.Dense) *mat.Dense {
	var cross, u, v, turn, out mat.Dense
	var svd mat.SVD
	if to == nil {
		return at
	}
	cross.Mul(at.T(), to)
	if !svd.Factorize(&cross, mat.SVDFull) || math.IsNaN(mat.Sum(&cross)) {
		return at
	}
	svd.UTo(&u)
	svd.VTo(&v)
	turn.Mul(&u, v.T())
	out.Mul(at, &turn)
	return &out
}
