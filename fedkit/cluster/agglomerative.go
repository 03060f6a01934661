package cluster

import (
	"fmt"
	"math/rand/v2"
)

// Linkage says how far two groups are apart, d(A, B).
type Linkage int

const (
	Ward     Linkage = iota // √(2|A||B|/(|A|+|B|)) ‖mean A − mean B‖: the least growth of the sum of squares
	Average                 // the mean distance between a point of A and one of B
	Single                  // the least
	Complete                // the greatest
)

var linkages = []string{"Ward", "Average", "Single", "Complete"}

// String returns the name of the constant, "Ward".
func (l Linkage) String() string {
	if l < 0 || int(l) >= len(linkages) {
		return fmt.Sprintf("Linkage(%d)", int(l))
	}
	return linkages[l]
}

// Agglomerative merges the two nearest groups, from every point alone, until k are left, or until all are farther apart than
// Height. It uses no randomness. See Link for the tree of all merges.
//
// Errors: those of Clusterer, an unknown linkage, a negative Height.
type Agglomerative struct {
	Linkage Linkage // distance of two clusters; default Ward
	Height  float64 `range:"[0,inf)"` // > 0: cut here instead, whatever number of groups that gives, but at most k if k > 0
}

// Cluster implements Clusterer.
func (m Agglomerative) Cluster(p *Points, k int, _ *rand.Rand) ([]int, error) {
	if !(m.Height >= 0) {
		return nil, invalid("Height", m.Height, "a number ≥ 0")
	}
	if m.Finds() && k < 0 {
		return nil, invalid("k", k, "at least 1, or 0 for no limit")
	}
	if !m.Finds() && k < 1 {
		return nil, invalid("k", k, "at least 1, or a Height")
	}
	tree, err := Link(p, m.Linkage)
	if err != nil {
		return nil, err
	}
	if !m.Finds() {
		return tree.Cut(k), nil
	}
	labels := tree.CutAt(m.Height)
	if k > 0 && groups(labels) > k {
		labels = tree.Cut(k)
	}
	return labels, nil
}

// Finds implements Finder: with a Height.
func (m Agglomerative) Finds() bool { return m.Height > 0 }
