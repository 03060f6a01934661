package cluster

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Agreement compares a clustering with the true groups. Points with a negative label in either are left out. All fields are NaN
// if no point is left, or if there are not as many labels as true groups.
type Agreement struct {
	ARI      float64 // adjusted Rand index, 1 for the same groups, about 0 for random ones (Hubert and Arabie 1985)
	NMI      float64 // mutual information over the mean of the entropies, in [0, 1]
	Purity   float64 // share of the points in the majority true group of their cluster
	Accuracy float64 // share of the points in the true group that is matched to their cluster, one to one (see Match)
}

// Agree compares labels [n] with the true groups [n]. With n_ab the number of points in cluster a and true group b, and
// C(v) = v(v−1)/2 the number of pairs:
//
//	ARI = (Σ_ab C(n_ab) − E)/(½ (Σ_a C(n_a) + Σ_b C(n_b)) − E),  E = Σ_a C(n_a) Σ_b C(n_b)/C(n)
//	NMI = Σ_ab n_ab/n log(n n_ab/(n_a n_b)) / (½ (H_a + H_b)),  H_a = −Σ_a n_a/n log(n_a/n)
//
// Both are 1 where they would be 0/0: only singletons, or one group, in labels and truth alike.
func Agree(labels, truth []int) Agreement {
	t := count(labels, truth)
	if t.n == 0 {
		return Agreement{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	return Agreement{t.ari(), t.nmi(), t.purity(), t.accuracy()}
}

// contingency is the contingency table of clusters and true groups.
type contingency struct {
	n     float64
	a, b  []float64   // points by cluster, by true group
	both  [][]float64 // points by true group and cluster
	cells []float64   // the nonempty ones of them, in the order of the points, so that sums are the same in every run
	at    [][2]int    // their clusters and true groups
}

func count(labels, truth []int) (t contingency) {
	if len(labels) != len(truth) {
		return t
	}
	var as, bs []int
	for i, a := range labels {
		if a >= 0 && truth[i] >= 0 {
			as, bs = append(as, a), append(bs, truth[i])
		}
	}
	as, bs = Renumber(as), Renumber(bs)
	t.n, t.a, t.b, t.both = float64(len(as)), make([]float64, groups(as)), make([]float64, groups(bs)), zeros(groups(bs), groups(as))
	for i, a := range as {
		b := bs[i]
		if t.both[b][a] == 0 {
			t.at = append(t.at, [2]int{a, b})
		}
		t.both[b][a]++
		t.a[a]++
		t.b[b]++
	}
	for _, at := range t.at {
		t.cells = append(t.cells, t.both[at[1]][at[0]])
	}
	return t
}

func (t contingency) ari() float64 {
	pairs := func(v float64) float64 { return v * (v - 1) / 2 }
	all := func(sizes []float64) (sum float64) {
		for _, v := range sizes {
			sum += pairs(v)
		}
		return sum
	}
	same, a, b := all(t.cells), all(t.a), all(t.b)
	expected, greatest := a/max(pairs(t.n), 1)*b, (a+b)/2
	if greatest == expected {
		return 1
	}
	return (same - expected) / (greatest - expected)
}

func (t contingency) nmi() float64 {
	entropies := t.entropy(t.a) + t.entropy(t.b)
	if entropies == 0 {
		return 1
	}
	mutual := 0.0
	for i, n := range t.cells {
		mutual += n / t.n * math.Log(n*t.n/(t.a[t.at[i][0]]*t.b[t.at[i][1]]))
	}
	return min(max(0, 2*mutual/entropies), 1) // rounding may leave a little less or more
}

func (t contingency) entropy(sizes []float64) (h float64) {
	for _, v := range sizes {
		h -= v / t.n * math.Log(v/t.n)
	}
	return h
}

func (t contingency) purity() float64 {
	most := make([]float64, len(t.a))
	for i, n := range t.cells {
		most[t.at[i][0]] = max(most[t.at[i][0]], n)
	}
	return floats.Sum(most) / t.n
}

func (t contingency) accuracy() (hits float64) {
	for a, b := range Match(t.both) {
		if b >= 0 {
			hits += t.both[b][a]
		}
	}
	return hits / t.n
}
