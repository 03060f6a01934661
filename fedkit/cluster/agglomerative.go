package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
)

// Linkage is the distance d(A, B) of two groups.
type Linkage int

const (
	Ward     Linkage = iota // √(2|A||B|/(|A|+|B|)) ‖mean A − mean B‖: least increase of the within-group sum of squares
	Average                 // mean distance between a point of A and one of B
	Single                  // smallest such distance
	Complete                // largest such distance
)

var linkages = []string{"Ward", "Average", "Single", "Complete"}

// String returns the name of the constant, "Ward".
func (l Linkage) String() string {
	if l < 0 || int(l) >= len(linkages) {
		return fmt.Sprintf("Linkage(%d)", int(l))
	}
	return linkages[l]
}

// Agglomerative is hierarchical clustering: from singletons on, it merges the two nearest groups until k are left, or until all
// are farther apart than Height. It is deterministic. See Link for the dendrogram.
//
// Errors: those of Clusterer, an unknown linkage, a negative Height.
type Agglomerative struct {
	Linkage Linkage // distance of two clusters; default Ward
	Height  float64 `range:"[0,inf)"` // > 0: cut the tree at this height instead; k > 0 is then an upper bound on the number of groups
}

// Cluster implements Clusterer.
func (m Agglomerative) Cluster(p *Points, k int, _ *rand.Rand) ([]int, error) {
	switch err := config.CheckRanges(m); {
	case err != nil:
		return nil, err
	case m.SelectsK() && k < 0:
		return nil, fault.Invalid("k", k, "at least 1, or 0 for no limit")
	case !m.SelectsK() && k < 1:
		return nil, fault.Invalid("k", k, "at least 1, or a Height")
	}
	tree, err := Link(p, m.Linkage)
	if err != nil {
		return nil, err
	}
	if !m.SelectsK() {
		return tree.Cut(k), nil
	}
	labels := tree.CutAt(m.Height)
	if k > 0 && groups(labels) > k {
		labels = tree.Cut(k)
	}
	return labels, nil
}

// SelectsK implements KSelector: true with a Height.
func (m Agglomerative) SelectsK() bool { return m.Height > 0 }

// Merge is one step of an agglomeration. Groups are numbered as in SciPy: i < n is point i, n+s the result of step s.
type Merge struct {
	A, B   int     // A < B
	Height float64 // their distance
	Size   int     // points in the result
}

// Tree is a dendrogram: the n−1 merges of n points, by height.
type Tree []Merge

// Cut returns the labels of k groups, [n], numbered by their first points; n groups if k > n, one if k < 1. Of merges at the same
// height, the later ones are undone first.
func (t Tree) Cut(k int) []int { return t.labels(len(t) + 1 - min(max(k, 1), len(t)+1)) }

// CutAt returns the labels of the groups after all merges up to a height.
func (t Tree) CutAt(height float64) []int {
	steps := 0
	for steps < len(t) && t[steps].Height <= height {
		steps++
	}
	return t.labels(steps)
}

// labels returns the labels after the first steps.
func (t Tree) labels(steps int) []int {
	n := len(t) + 1
	labels := make([]int, n+steps) // of points, then of the result of each step
	for i := range labels {
		labels[i] = i
	}
	for s := steps - 1; s >= 0; s-- {
		labels[t[s].A], labels[t[s].B] = labels[n+s], labels[n+s]
	}
	return Renumber(labels[:n])
}

// grow makes a tree of unordered merges, whose A and B are any points of the two groups, by union-find.
func grow(merges []Merge) Tree {
	slices.SortStableFunc(merges, func(a, b Merge) int { return cmp.Compare(a.Height, b.Height) })
	n := len(merges) + 1
	above, size := make([]int, 2*n-1), make([]int, 2*n-1)
	for i := range above {
		above[i], size[i] = i, 1
	}
	top := func(i int) int {
		for above[i] != i {
			above[i] = above[above[i]] // path halving
			i = above[i]
		}
		return i
	}
	for s, m := range merges {
		a, b := top(m.A), top(m.B)
		above[a], above[b] = n+s, n+s
		size[n+s] = size[a] + size[b]
		merges[s] = Merge{min(a, b), max(a, b), m.Height, size[n+s]}
	}
	return merges
}
