package plot

import (
	"fmt"
	"slices"

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

// Moment is what was clustered in one round.
type Moment struct {
	Round  int             // when
	Points *cluster.Points // what: clients' updates, for example
	Labels []int           // the cluster of each point; nil for none
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
