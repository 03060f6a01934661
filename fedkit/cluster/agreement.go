package cluster

import "math"

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

// contingency is the sparse contingency table of clusters and true groups. Its cells are in the order of the points, so that sums
// over it are the same in every run.
type contingency struct {
	n    float64
	a, b []float64 // points by cluster, by true group
	both []cell    // nonempty cells
}

type cell struct {
	a, b int
	n    float64
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
	at := map[[2]int]int{}
	for i, a := range as {
		b := bs[i]
		if a == len(t.a) {
			t.a = append(t.a, 0)
		}
		if b == len(t.b) {
			t.b = append(t.b, 0)
		}
		c, known := at[[2]int{a, b}]
		if !known {
			c = len(t.both)
			at[[2]int{a, b}] = c
			t.both = append(t.both, cell{a: a, b: b})
		}
		t.both[c].n++
		t.a[a]++
		t.b[b]++
		t.n++
	}
	return t
}

func (t contingency) ari() float64 {
	pairs := func(v float64) float64 { return v * (v - 1) / 2 }
	var same, a, b float64
	for _, c := range t.both {
		same += pairs(c.n)
	}
	for _, v := range t.a {
		a += pairs(v)
	}
	for _, v := range t.b {
		b += pairs(v)
	}
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
	for _, c := range t.both {
		mutual += c.n / t.n * math.Log(c.n*t.n/(t.a[c.a]*t.b[c.b]))
	}
	return min(max(0, 2*mutual/entropies), 1) // rounding may leave a little less or more
}

func (t contingency) entropy(sizes []float64) (h float64) {
	for _, v := range sizes {
		h -= v / t.n * math.Log(v/t.n)
	}
	return h
}

func (t contingency) purity() (p float64) {
	most := make([]float64, len(t.a))
	for _, c := range t.both {
		most[c.a] = max(most[c.a], c.n)
	}
	for _, v := range most {
		p += v
	}
	return p / t.n
}

func (t contingency) accuracy() (hits float64) {
	overlap := zeros(len(t.b), len(t.a))
	for _, c := range t.both {
		overlap[c.b][c.a] = c.n
	}
	for a, b := range Match(overlap) {
		if b >= 0 {
			hits += overlap[b][a]
		}
	}
	return hits / t.n
}
