package plot

import (
	"errors"
	"fmt"
	"math"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
)

// Dendrogram returns the figure of how clients were merged, step by step, and at which height; Show draws it. A leaf is a
// client. Labels [n] say where the tree is cut; without them it is in one color:
//
//	plot.Dendrogram(tree, tree.Cut(4)).Show()     // four clusters
//	plot.Dendrogram(tree, tree.CutAt(0.3)).Show() // those that merge at most at 0.3
//
// A cluster has a color below the dashed line, which is halfway between the last merge inside a cluster and the first of
// two clusters. True groups [n], if given, are dots at the leaves: partition.Groups(fed.Clients), say. A dot has
// its branch's color if the client is where most of its group are.
//
// Of more than 100 leaves, those that merge first are drawn as one, with the number of clients in brackets.
//
// Errors: a tree without a merge, one that is not a tree, numbers of labels or true groups that do not go with it.
func Dendrogram(t cluster.Tree, labels []int, truth ...int) *chart.Figure {
	return chart.Make("plot: dendrogram", func(f *chart.Figure) error {
		if err := checkTree(t); err != nil {
			return err
		}
		if err := checkGroups(len(t)+1, labels, truth); err != nil {
			return err
		}
		hidden := max(0, len(t)+1-maxClients)
		order, all := leaves(t, hidden), branches(t, labels, truth)
		f.Name, f.Title, f.Point, f.Legend = "dendrogram", "Which clients were merged, and when", "branch", true
		f.X, f.Y = chart.Axis{Title: "client"}, chart.Axis{Title: "height", Include: []float64{0}}
		f.Width = min(900, max(360, 22*len(order)))
		for i, id := range order {
			all[id].place = float64(i)
			f.X.Names = append(f.X.Names, all[id].name(id))
		}
		drawMerges(f, t, hidden, all, likeGroups(labels, truth))
		if len(truth) > 0 {
			drawLeaves(f, order, all)
			note(f, "dot: true group")
		}
		if hidden > 0 {
			note(f, "(2): 2 clients that merged below")
		}
		drawCut(f, t, all, labels)
		f.Alt = plural(len(t)+1, "client") + fmt.Sprintf(", all merged at %.3g", t[len(t)-1].Height)
		if len(distinct(labels)) > 0 {
			f.Alt += "; cut into branches of " + sizes(labels)
			if f.Targets != nil {
				f.Alt += fmt.Sprintf(" at %.3g", f.Targets[0])
			}
		}
		return nil
	})
}

// branch is what merges: a client or what a step made.
type branch struct {
	place, height  float64
	clients        int
	cluster, group int // of all of its clients, −1 if they differ or have none
}

// branches returns the clients and then what each step made, without their places.
func branches(t cluster.Tree, labels, truth []int) []branch {
	all := make([]branch, 0, 2*len(t)+1)
	for i := range len(t) + 1 {
		all = append(all, branch{clients: 1, cluster: of(labels, i), group: of(truth, i)})
	}
	for _, m := range t {
		a, b := all[m.A], all[m.B]
		made := branch{0, m.Height, a.clients + b.clients, a.cluster, a.group}
		if a.cluster != b.cluster {
			made.cluster = -1
		}
		if a.group != b.group {
			made.group = -1
		}
		all = append(all, made)
	}
	return all
}

func (b branch) name(id int) string {
	if b.clients > 1 {
		return fmt.Sprintf("(%d)", b.clients)
	}
	return fmt.Sprint(id)
}

// leaves returns the clients in an order in which no branches cross. What the first few steps made is a leaf too.
func leaves(t cluster.Tree, hidden int) (order []int) {
	n := len(t) + 1
	var walk func(id int)
	walk = func(id int) {
		if id < n+hidden {
			order = append(order, id)
			return
		}
		walk(t[id-n].A)
		walk(t[id-n].B)
	}
	walk(n + len(t) - 1)
	return order
}

// checkTree refuses what is not the tree of len(t)+1 clients.
func checkTree(t cluster.Tree) error {
	if len(t) == 0 {
		return errors.New("the tree has no merge: it must have at least two leaves")
	}
	n, merged := len(t)+1, make([]bool, 2*len(t)+1)
	for s, m := range t {
		for _, id := range []int{m.A, m.B} {
			if id < 0 || id >= n+s || merged[id] {
				return fmt.Errorf("merge %d joins %d and %d: must be two of the numbers below %d that were not merged before", s, m.A, m.B, n+s)
			}
			merged[id] = true
		}
		if !finite(m.Height) {
			return fmt.Errorf("merge %d is at height %g: must be finite", s, m.Height)
		}
	}
	return nil
}

// drawMerges adds the branches, in the colors of their clusters, and those of several clusters in ink.
func drawMerges(f *chart.Figure, t cluster.Tree, hidden int, all []branch, as map[int]int) {
	clusters := distinct(each(all, func(b branch) int { return b.cluster }))
	lines := map[int]*chart.Series{-1: {Name: "several clusters", Mark: chart.Segments, Ink: true}}
	for _, c := range clusters {
		lines[c] = &chart.Series{Name: clusterName(c), Color: as[c] + 1, Mark: chart.Segments}
	}
	for s, m := range t {
		if s < hidden {
			continue
		}
		made := &all[len(t)+1+s]
		a, b := all[m.A], all[m.B]
		made.place = (a.place + b.place) / 2
		for _, part := range []branch{a, b} {
			lines[part.cluster].Cell(part.place, part.place, part.height, made.height, part.tip())
		}
		lines[made.cluster].Cell(a.place, b.place, made.height, made.height, made.tip())
	}
	for _, c := range append([]int{-1}, clusters...) {
		f.Series = append(f.Series, *lines[c])
	}
}

func (b branch) tip() string {
	if b.clients == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients, merged at %.3g", b.clients, b.height)
}

// drawLeaves adds a dot for each leaf whose clients have one true group.
func drawLeaves(f *chart.Figure, order []int, all []branch) {
	groups := each(order, func(id int) int { return all[id].group })
	for _, g := range distinct(groups) {
		s := trueGroup(f, g, chart.Dots)
		s.Opacity = 1
		for i, id := range order {
			if groups[i] == g {
				s.X, s.Y = append(s.X, all[id].place), append(s.Y, all[id].height)
				s.Tip = append(s.Tip, all[id].name(id))
			}
		}
	}
}

// drawCut draws the line between the merges inside clusters and those of several, if there is one.
func drawCut(f *chart.Figure, t cluster.Tree, all []branch, labels []int) {
	n, inside, across := len(t)+1, 0.0, math.Inf(1)
	alone := n // groups that the merges inside clusters leave
	for s, m := range t {
		if all[n+s].cluster >= 0 {
			inside = max(inside, m.Height)
			alone--
		} else {
			across = min(across, m.Height)
		}
	}
	switch {
	case len(labels) == 0 || math.IsInf(across, 1):
	case inside <= across && alone == len(distinct(labels)):
		f.Targets = []float64{(inside + across) / 2}
	default:
		note(f, "the clusters are not a cut of this tree")
	}
}
