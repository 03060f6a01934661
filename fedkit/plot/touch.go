package plot

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

// Rounds returns figures of a run that the reader can go through: Accuracy beside the Clusters of every client, and ClientLabels; Show
// draws them. What is dragged over the curve is what the map shows; a click on a client in the map shows its labels. Clients are sorted
// by the true groups of the federation if there are several. Without a federation, there are no labels.
//
//	plot.Rounds(h, fed).Show()
//
// Errors: those of Accuracy, Clusters and ClientLabels.
func Rounds(h *fedkit.History, fed *fedkit.Federation) chart.Row {
	curve := Accuracy(h).Titled("Accuracy")
	for i := range curve.Series {
		curve.Series[i].Ink = true // colors are clusters
	}
	var truth []int
	if fed != nil {
		if truth = partition.Groups(fed.Clients); len(distinct(truth)) < 2 {
			truth = nil
		}
	}
	clusters := clusterMap(h, false, truth).Titled("Cluster of each client")
	row := chart.Row{curve, clusters}
	if fed != nil {
		row = append(row, ClientLabels(fed))
	}
	curve.Width, clusters.Width = 300, 400
	for _, f := range row {
		f.Height = max(200, clusters.Height)
	}
	return row.Brush()
}

// ClientLabels returns the figure of the labels of one client's training rows, the share of each; Show draws it. It is the client that
// was clicked last in a figure of clients next to it, such as Clusters with true groups, PCA or Sizes; before, it is the mean of all. At
// most the first 100 clients can be clicked.
//
//	chart.Row{plot.Sizes(fed), plot.ClientLabels(fed)}.Show()
//
// Errors: those of Labels, and of chart.Row.Click.
func ClientLabels(fed *fedkit.Federation) *chart.Figure {
	return chart.Make("plot: client labels", func(f *chart.Figure) error {
		counts, err := labelCounts(fed)
		if err != nil {
			return err
		}
		figure := func(title, note string, shares []float64) *chart.Figure {
			f := &chart.Figure{Name: "client-labels", Title: title, Note: note, Width: 200, Height: min(320, max(160, 24*len(shares)))}
			f.X, f.Y = chart.Axis{Title: "share of its training rows", Percent: true, Include: []float64{0}}, chart.Axis{Title: "label", Whole: true, Include: []float64{-0.5, float64(len(shares)) - 0.5}}
			s := chart.Series{Name: "share", Mark: chart.Cells, Ink: true, Opacity: 0.6}
			for label, share := range shares {
				s.Cell(0, share, float64(label)-0.4, float64(label)+0.4)
			}
			f.Series = []chart.Series{s}
			return f
		}
		shown := min(len(counts), maxClients)
		all, row, keys := make([]float64, fed.Data.Classes), make(chart.Row, 1), []string{""}
		for i, of := range counts {
			own, n := make([]float64, len(of)), max(1, len(fed.Clients[i].Train))
			for label, k := range of {
				own[label] = float64(k) / float64(n)
				all[label] += own[label] / float64(len(counts))
			}
			if i < shown {
				row, keys = append(row, figure(fmt.Sprint("Client ", i), plural(len(fed.Clients[i].Train), "row"), own)), append(keys, fmt.Sprint(i))
			}
		}
		row[0] = figure("All clients", "mean", all)
		*f = *row.Click("client", keys...)
		return nil
	})
}

// Moment is what was clustered in one round.
type Moment struct {
	Round  int             // when
	Points *cluster.Points // what: clients' updates, for example
	Labels []int           // the cluster of each point; nil for none
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

// follow returns the labels of each moment, in the names that Clusters gives them, and the rounds.
func follow(moments []Moment, truth []int) (labels [][]int, at []int, err error) {
	var rounds []assignment
	for i, m := range moments {
		n := m.Points.Len()
		if err := checkGroups(n, m.Labels, truth); err != nil {
			return nil, nil, fmt.Errorf("round %d: %w", m.Round, err)
		}
		if first := moments[0].Points.Len(); n != first {
			return nil, nil, fmt.Errorf("round %d has %d points: must be %d, as round %d has", m.Round, n, first, moments[0].Round)
		}
		own := slices.Repeat([]int{-1}, n)
		copy(own, m.Labels)
		if i > 0 {
			own = cluster.Follow(own, rounds[i-1].labels)
		}
		rounds, at = append(rounds, assignment{m.Round, own}), append(at, m.Round)
	}
	if rounds == nil {
		return nil, nil, fmt.Errorf("no moment given")
	}
	renumber(rounds, truth)
	return each(rounds, func(r assignment) []int { return r.labels }), at, nil
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
