package cluster

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/floats"
)

// Silhouette returns the silhouette of each point, [n] in [−1, 1] (Rousseeuw 1987): with a the mean distance to the others of its
// group and b the least mean distance to another group,
//
//	s = (b − a)/max(a, b).
//
// It is 0 for a singleton, if there is only one group, and if a = b = 0. A point with a negative or missing label has 0, too, and
// is ignored by all others.
func Silhouette(p *Points, labels []int) []float64 { return silhouette(p.Distances(), labels) }

func silhouette(d *Condensed, labels []int) []float64 {
	n := d.n
	group := Renumber(append(slices.Clone(labels[:min(n, len(labels))]), Ungrouped(max(0, n-len(labels)))...))
	size, sums := make([]float64, groups(group)), zeros(groups(group), n) // sums of the distances of the points to each group
	for i, c := range group {
		after := d.after(i)
		if c >= 0 {
			size[c]++
			floats.Add(sums[c][i+1:], after)
		}
		for o, v := range after {
			if to := group[i+1+o]; to >= 0 {
				sums[to][i] += v
			}
		}
	}
	s := make([]float64, n)
	for i, own := range group {
		if own < 0 || size[own] < 2 || len(size) < 2 {
			continue
		}
		a, b := sums[own][i]/(size[own]-1), math.Inf(1)
		for c := range sums {
			if c != own {
				b = min(b, sums[c][i]/size[c])
			}
		}
		if most := max(a, b); most > 0 {
			s[i] = (b - a) / most
		}
	}
	return s
}

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
	if err := cmp.Or(config.CheckRanges(m), p.finite()); err != nil {
		return nil, err
	}
	m = config.Defaults(m)
	least, most := m.Min, cmp.Or(m.Max, max(10, m.Min))
	switch {
	case most < least:
		return nil, fault.Invalid("Max", m.Max, "at least 2 and Min, or 0 for the default of 10")
	case k < 0:
		return nil, fault.Invalid("k", k, "at least 1, or 0 for no limit")
	case k > 0:
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
