package plot

import (
	"errors"
	"fmt"

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
