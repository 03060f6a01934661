package cluster_test

import (
	"cmp"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

var all = []cluster.Linkage{cluster.Ward, cluster.Average, cluster.Single, cluster.Complete}

// normal returns n points with p features.
func normal(n, p int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
	return x
}

func TestCuts(t *testing.T) {
	for _, by := range all {
		for seed := range uint64(5) {
			n := 2 + int(seed)*9
			tree := link(t, cluster.FromVectors(normal(n, 3, seed)), by)
			for k := -1; k <= n+2; k++ {
				labels := tree.Cut(k)
				if got, want := slices.Max(labels)+1, min(max(k, 1), n); got != want || len(labels) != n {
					t.Errorf("%v, n = %d, k = %d: %d groups of %d points", by, n, k, got, len(labels))
				}
				if k >= 2 && k < n && !slices.Equal(labels, tree.CutAt((tree[n-k-1].Height+tree[n-k].Height)/2)) {
					t.Errorf("%v, n = %d, k = %d: the height in between gives other groups", by, n, k)
				}
			}
			if !slices.IsSortedFunc(tree, func(a, b cluster.Merge) int { return cmp.Compare(a.Height, b.Height) }) || tree[n-2].Size != n {
				t.Errorf("%v: %v", by, tree)
			}
		}
	}
}

// The order of the points changes their numbers, not their groups.
func TestOrderDoesNotMatter(t *testing.T) {
	x := normal(50, 4, 7)
	order := rand.New(rand.NewPCG(3, 3)).Perm(50)
	y := mat.NewDense(50, 4, nil)
	for i, j := range order {
		y.SetRow(i, x.RawRowView(j))
	}
	for _, by := range all {
		a, b := link(t, cluster.FromVectors(x), by), link(t, cluster.FromVectors(y), by)
		moved := make([]int, 50)
		for i, j := range order {
			moved[i] = a.Cut(6)[j]
		}
		if cluster.Agree(moved, b.Cut(6)).ARI != 1 {
			t.Errorf("%v: %v and %v", by, moved, b.Cut(6))
		}
	}
}

// n²·4 bytes are those of the distances.
func TestLinkNeedsOneCopyOfTheDistances(t *testing.T) {
	const n = 1500
	x := normal(n, 8, 1)
	for _, by := range all {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		link(t, cluster.FromVectors(x), by)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 4*n*n*12/10 {
			t.Errorf("%v took %d bytes for %d points, more than 1.2 × 4n²", by, used, n)
		}
	}
}

func TestLinkLeavesDistancesAsTheyAre(t *testing.T) {
	d := cluster.FromVectors(normal(20, 2, 1)).Distances()
	want := slices.Clone(d.Values())
	for _, by := range all {
		if link(t, cluster.FromDistances(d), by); !slices.Equal(d.Values(), want) {
			t.Errorf("%v changed the distances", by)
		}
	}
}
