package cluster

import (
	"cmp"
	"math/rand/v2"
)

// BestSilhouette finds the number of groups, Min to Max, whose mean silhouette is greatest; the least one if several are. All
// points are one group if no number has a mean above 0, and if there are fewer than 3 points: a silhouette needs a group of two,
// and another group.
//
// Errors: those of Clusterer, Min or Max below 2, Max below Min.
type BestSilhouette struct {
	Of  Clusterer // default Agglomerative
	Min int       `range:"[2,inf)" default:"2"`  // groups at least
	Max int       `range:"[2,inf)" default:"10"` // at most one less than there are points
}

// Finds implements Finder.
func (BestSilhouette) Finds() bool { return true }

// Cluster implements Clusterer.
func (m BestSilhouette) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	least, most := cmp.Or(m.Min, 2), cmp.Or(m.Max, max(10, m.Min))
	switch {
	case least < 2:
		return nil, invalid("Min", m.Min, "at least 2, or 0 for the default of 2")
	case most < least:
		return nil, invalid("Max", m.Max, "at least 2 and Min, or 0 for the default of 10")
	case k < 0:
		return nil, invalid("k", k, "at least 1, or 0 for no limit")
	}
	if err := p.finite(); err != nil {
		return nil, err
	}
	if k > 0 {
		most = min(most, k)
	}
	by, err := m.each(p)
	if err != nil {
		return nil, err
	}
	d, best, score := p.Distances(), make([]int, p.Len()), 0.0
	for k := least; k <= min(most, p.Len()-1); k++ {
		labels, err := by.Cluster(p, k, rng)
		if err != nil {
			return nil, err
		}
		if mean := mean(silhouette(d, labels)); mean > score {
			best, score = labels, mean
		}
	}
	return best, nil
}

// each returns what groups the points for each number of groups. Agglomeration needs one tree for all.
func (m BestSilhouette) each(p *Points) (Clusterer, error) {
	of := cmp.Or[Clusterer](m.Of, Agglomerative{})
	a, ok := of.(Agglomerative)
	if !ok || a.Height != 0 {
		return of, nil
	}
	tree, err := Link(p, a.Linkage)
	return Func(func(_ *Points, k int, _ *rand.Rand) ([]int, error) { return tree.Cut(k), nil }), err
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
