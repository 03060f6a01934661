package cluster_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/mat"
)

// Five clients in two clusters, and one that never took part. Cluster 0 is split, and the rest of it merges into cluster 2.
func ExampleGroups() {
	g := cluster.Groups{0, 2, 0, cluster.None, 2, 0}
	fmt.Println(g.Names(), g.Members(0), g.Means(3, nil)[2], g.Take(4, 3, 0))

	g.Split(g.Members(0), []int{0, 1, 1}, 3)
	fmt.Println(g)
	g.Merge(0, 2)
	fmt.Println(g.Pack(), g)
	// Output:
	// [0 2] [0 2 5] [0 0.5 0 0 0.5 0] [2 -1 0]
	// [0 2 3 -1 2 3]
	// [2 3] [0 0 1 -1 0 1]
}

func TestGroupsAtTheEdges(t *testing.T) {
	none := cluster.Ungrouped(2)
	if none.Names() != nil && len(none.Names()) > 0 || none.Members(0) != nil || len(none.Pack()) > 0 || none.Nearest(0, cluster.NewCondensed(1)) != cluster.None {
		t.Errorf("%v: names %v, members %v", none, none.Names(), none.Members(0))
	}
	g := cluster.Groups{1, cluster.None, 4, 1}
	if got, want := g.Weights(3, []float64{2, 3, 4, 6}), [][]float64{{0, 0, 0, 0}, {2, 0, 0, 6}, {0, 0, 0, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("weights %v, want %v", got, want)
	}
	if got, want := g.Means(2, []float64{2, 3, 4, 6}), [][]float64{{0, 0, 0, 0}, {0.25, 0, 0, 0.75}}; !reflect.DeepEqual(got, want) {
		t.Errorf("means %v, want %v", got, want)
	}
}

// The points 0, 1, 4, 10 on a line, of which the first two are a group, and the last one is in none.
func TestGroupsByDistance(t *testing.T) {
	points := cluster.FromVectors(mat.NewDense(4, 1, []float64{0, 1, 4, 10})).Distances()
	g := cluster.Groups{1, 1, 0, cluster.None}
	if gap := g.Gap(points); gap != 3 {
		t.Errorf("a gap of %v, want 3", gap)
	}
	if gap := g[:2].Gap(points); !math.IsInf(gap, 1) {
		t.Errorf("a gap of %v within one group", gap)
	}
	centers := cluster.FromVectors(mat.NewDense(3, 1, []float64{4, 0.5, 5})).Distances() // of groups 0, 1, and 2, which is empty
	if to := g.Nearest(0, centers); to != 1 {
		t.Errorf("the nearest to group 0 is %d, want 1", to)
	}
	inter := (3.5*3.5 + 4.5*4.5) / 2 // of group 1
	if got := g.Ratios([]float64{0.25, 0.25, 0, 99}, centers); math.Abs(got[1]-0.25/inter) > 1e-15 || got[0] != 0 || got[2] != 0 {
		t.Errorf("ratios %v, want 0, %v and 0", got, 0.25/inter)
	}
}

// Each goes to the center at the least angle, however long; zeros and ties stay.
func TestGroupsJoin(t *testing.T) {
	g := cluster.Groups{0, 0, 1, 1, cluster.None}
	g.Reassign(mat.NewDense(5, 2, []float64{5, 1, 1, 5, 0, 0, 1, 1, 1, 0}), mat.NewDense(2, 2, []float64{1, 0, 0, 9}))
	if want := (cluster.Groups{0, 1, 1, 1, cluster.None}); !slices.Equal(g, want) {
		t.Errorf("%v, want %v", g, want)
	}
}

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		labels []int
		before [][]float64
		want   []int
	}{
		{[]int{1, 1, 0, 0}, [][]float64{{1, 0, 0}, {0.6, 0.4, 0}, {0, 0, 1}, {0, 0.1, 0.9}}, []int{0, 0, 2, 2}},
		{nil, nil, []int{}}, // more or fewer groups
		{[]int{0, 1}, nil, []int{0, 1}},
		{[]int{1, 0, 2}, [][]float64{{1, 0}, {0, 1}, {0, 1}}, []int{0, 1, 2}},
		{[]int{1, 1, -1}, [][]float64{{0, 0, 1}, {0, 0, 1}, {1, 0, 0}}, []int{2, 2, -1}},
	} {
		got := cluster.Align(c.labels, c.before)
		expect.That(t, slices.Equal(got, c.want), "%v after %v: %v, want %v", c.labels, c.before, got, c.want)
	}
}

func TestFollow(t *testing.T) {
	for name, c := range map[string]struct{ labels, before, want []int }{
		"nothing":                       {nil, nil, []int{}},
		"the first time":                {[]int{4, 2, 4}, nil, []int{0, 1, 0}},
		"nobody had a group":            {[]int{4, 2, 4}, []int{-1, -1, -1}, []int{0, 1, 0}},
		"other names":                   {[]int{2, 2, 0, 0, 1}, []int{0, 0, 5, 5, 3}, []int{0, 0, 5, 5, 3}},
		"a group splits":                {[]int{0, 0, 1, 1, 1}, []int{0, 0, 0, 0, 0}, []int{1, 1, 0, 0, 0}},
		"groups merge":                  {[]int{0, 0, 0, 0, 0}, []int{0, 0, 1, 1, 1}, []int{1, 1, 1, 1, 1}},
		"a group shares no point":       {[]int{0, 0, 1, 1}, []int{0, 2, -1, -1}, []int{0, 0, 1, 1}},
		"one leaves, another comes":     {[]int{0, 0, 1, -1}, []int{7, 7, -1, 0}, []int{7, 7, 1, -1}},
		"new points":                    {[]int{1, 1, 0, 0}, []int{0, 0}, []int{0, 0, 1, 1}},
		"more together than each alone": {[]int{0, 0, 0, 1, 1, 1}, []int{0, 0, 1, 0, 0, 0}, []int{1, 1, 1, 0, 0, 0}},
	} {
		got := cluster.Follow(c.labels, c.before)
		expect.That(t, slices.Equal(got, c.want), "%s: %v, want %v", name, got, c.want)
	}
}

func TestMatchOfDifferentNumbers(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		overlap [][]float64
		want    []int
	}{
		{nil, []int{}},
		{[][]float64{{}, {}}, []int{}},
		{[][]float64{{1, 3, 2}}, []int{-1, 0, -1}},
		{[][]float64{{1}, {3}, {2}}, []int{1}},
		{[][]float64{{1, 3, 2}, {1, 4, 1}}, []int{-1, 1, 0}},
		{[][]float64{{nan, 1}, {2, math.Inf(1)}}, []int{1, 0}},
		{[][]float64{{0, 5}, {1}}, []int{1, 0}},
	} {
		got := cluster.Match(c.overlap)
		expect.That(t, slices.Equal(got, c.want), "%v: %v, want %v", c.overlap, got, c.want)
	}
}

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
		expect.That(t, agree(got, c.want, 1e-15), "%s: %v, want %v", name, got, c.want)
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
		expect.That(t, agree(a, b, 1e-12), "seed %d: %v, with other names %v", seed, a, b)
		if !near(a.ARI, swapped.ARI, 1e-12) || !near(a.NMI, swapped.NMI, 1e-12) || !near(a.Accuracy, swapped.Accuracy, 1e-12) {
			t.Errorf("seed %d: %v, the other way around %v", seed, a, swapped)
		}
	}
}
