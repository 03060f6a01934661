package cluster_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit/cluster"
)

// Sums over many groups of different sizes have the same bytes whenever they are taken.
func TestAgreeAlwaysTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	labels, truth := make([]int, 1000), make([]int, 1000)
	for i := range labels {
		labels[i], truth[i] = rng.IntN(40), rng.IntN(30)
	}
	want := cluster.Agree(labels, truth)
	for range 20 {
		if got := cluster.Agree(labels, truth); got != want {
			t.Fatalf("%v, then %v", want, got)
		}
	}
}

func TestAgreeAtTheEdges(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		labels, truth []int
		want          cluster.Agreement
	}{
		"no points":               {nil, nil, cluster.Agreement{nan, nan, nan, nan}},
		"no label":                {[]int{-1, 0}, []int{0, -1}, cluster.Agreement{nan, nan, nan, nan}},
		"a label is missing":      {[]int{0}, []int{0, 0}, cluster.Agreement{nan, nan, nan, nan}},
		"one point":               {[]int{5}, []int{9}, cluster.Agreement{1, 1, 1, 1}},
		"all together, in both":   {[]int{1, 1, 1}, []int{0, 0, 0}, cluster.Agreement{1, 1, 1, 1}},
		"every point alone":       {[]int{0, 1, 2}, []int{7, 5, 6}, cluster.Agreement{1, 1, 1, 1}},
		"one cluster, two groups": {[]int{0, 0, 0, 0}, []int{0, 0, 1, 1}, cluster.Agreement{0, 0, 0.5, 0.5}},
		"alone, two groups":       {[]int{0, 1, 2, 3}, []int{0, 0, 1, 1}, cluster.Agreement{0, 2. / 3, 1, 0.5}},
		"some without a label":    {[]int{3, -1, 3, 8}, []int{0, 1, 0, 1}, cluster.Agreement{1, 1, 1, 1}},
	} {
		got := cluster.Agree(c.labels, c.truth)
		if !agree(got, c.want, 1e-15) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func agree(a, b cluster.Agreement, tolerance float64) bool {
	return near(a.ARI, b.ARI, tolerance) && near(a.NMI, b.NMI, tolerance) && near(a.Purity, b.Purity, tolerance) && near(a.Accuracy, b.Accuracy, tolerance)
}

// near reports whether two numbers are within a tolerance, or both NaN.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance || math.IsNaN(a) && math.IsNaN(b)
}

// The scores do not depend on the names of groups or the order of the points, and ARI and NMI are symmetric in labels and truth.
func TestAgreeIsInvariant(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 1 + rng.IntN(60)
		labels, truth := make([]int, n), make([]int, n)
		for i := range n {
			labels[i], truth[i] = rng.IntN(1+n/5), rng.IntN(4)
		}
		name, order := rng.Perm(n), rng.Perm(n)
		renamed, there := make([]int, n), make([]int, n)
		for i, j := range order {
			renamed[i], there[i] = name[labels[j]], truth[j]
		}
		a, b, swapped := cluster.Agree(labels, truth), cluster.Agree(renamed, there), cluster.Agree(truth, labels)
		if !agree(a, b, 1e-12) {
			t.Errorf("seed %d: %v, with other names %v", seed, a, b)
		}
		if !near(a.ARI, swapped.ARI, 1e-12) || !near(a.NMI, swapped.NMI, 1e-12) || !near(a.Accuracy, swapped.Accuracy, 1e-12) {
			t.Errorf("seed %d: %v, the other way around %v", seed, a, swapped)
		}
	}
}
