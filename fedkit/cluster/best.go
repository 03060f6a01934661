package cluster

import (
	"cmp"
	"math/rand/v2"

	"fedkit.example/fedkit/config"
)

// BestSilhouette chooses the number of groups from Min to Max with the greatest mean silhouette, the smallest in a tie. All
// points are one group if no mean is above 0, or if there are fewer than 3 points: a silhouette needs a group of two and another
// group.
//
// Errors: those of Clusterer, Min or Max below 2, Max below Min.
type BestSilhouette struct {
	Of  Clusterer // default Agglomerative
	Min int       `range:"[2,inf)" default:"2"`                          // fewest groups
	Max int       `range:"[2,inf)" default:"10, or Min if that is more"` // most groups; at most n − 1 are tried
}

// SelectsK implements KSelector.
func (BestSilhouette) SelectsK() bool { return true }

// Cluster implements Clusterer.
func (m BestSilhouette) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	m = config.Defaults(m)
	least, most := m.Min, cmp.Or(m.Max, max(10, m.Min))
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

// each returns the clusterer to call for every number of groups. Agglomeration builds its tree only once.
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
