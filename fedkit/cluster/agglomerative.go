package cluster

import (
	"fmt"
	"math/rand/v2"
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
	if !(m.Height >= 0) {
		return nil, invalid("Height", m.Height, "a number ≥ 0")
	}
	if m.SelectsK() && k < 0 {
		return nil, invalid("k", k, "at least 1, or 0 for no limit")
	}
	if !m.SelectsK() && k < 1 {
		return nil, invalid("k", k, "at least 1, or a Height")
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
