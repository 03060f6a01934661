package cluster_test

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
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
		expect.That(t, cluster.Agree(moved, b.Cut(6)).ARI == 1, "%v: %v and %v", by, moved, b.Cut(6))
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

// Equal points are at no distance from each other, and at exactly the same one from any third: such ties are broken by index.
func TestDistancesOfEqualPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, p := range []int{1, 3, 7, 64, 129} {
		for n := 2; n <= 21; n++ {
			x := mat.NewDense(n, p, nil)
			kind := make([]int, n)
			for i := range n {
				if kind[i] = i; i > 0 && rng.IntN(2) == 0 {
					kind[i] = kind[rng.IntN(i)]
					x.SetRow(i, x.RawRowView(kind[i]))
					continue
				}
				for j := range p {
					x.Set(i, j, 10+rng.NormFloat64())
				}
			}
			d := cluster.FromVectors(x).Distances()
			for i := range n {
				for j := range n {
					for k := range n {
						if kind[i] == kind[j] && (d.At(i, j) != 0 || k != i && k != j && d.At(i, k) != d.At(j, k)) {
							t.Fatalf("%d features, points %d and %d are equal: %v apart, %v and %v from %d", p, i, j, d.At(i, j), d.At(i, k), d.At(j, k), k)
						}
					}
				}
			}
		}
	}
}

// However the points are given, their distances are the same, and so are their inner products about the mean.
func TestPointsKnownInEveryWay(t *testing.T) {
	const n, p = 12, 4
	x := normal(n, p, 5)
	d := cluster.NewCondensed(n)
	with := mat.NewDense(n+1, p, nil) // around their mean, and the mean
	for i := range n {
		for j := range p {
			m := mat.Sum(x.ColView(j)) / n
			with.Set(i, j, x.At(i, j)-m)
			with.Set(n, j, m)
		}
		for j := range i {
			var diff mat.VecDense
			diff.SubVec(x.RowView(i), x.RowView(j))
			d.Set(i, j, mat.Norm(&diff, 2))
		}
	}
	var gram, shifted mat.SymDense
	gram.SymOuterK(1, x)
	shifted.SymOuterK(1, with)
	for name, points := range map[string]*cluster.Points{
		"vectors": cluster.FromVectors(x), "inner products": cluster.FromGram(&gram), "shifted": cluster.FromShiftedGram(&shifted), "distances": cluster.FromDistances(d),
	} {
		g, c := points.Gram(), points.Centered()
		for i := range n {
			for j := range n {
				expect.That(t, near(points.Distances().At(i, j), d.At(i, j), 1e-12), "%s: the distance of %d and %d is %v, want %v", name, i, j, points.Distances().At(i, j), d.At(i, j))
				if name != "distances" && !near(g.At(i, j), gram.At(i, j), 1e-12) {
					t.Errorf("%s: the inner product of %d and %d is %v, want %v", name, i, j, g.At(i, j), gram.At(i, j))
				}
				expect.That(t, name == "inner products" || near(c.At(i, j), shifted.At(i, j), 1e-12), "%s: about the mean, the inner product of %d and %d is %v, want %v", name, i, j, c.At(i, j), shifted.At(i, j))
			}
		}
		expect.That(t, points.Distances().At(0, 0) == 0 && points.Len() == n, "%s: %d points", name, points.Len())
	}
}

// oracle is what testdata/oracle.py writes: points, and how scikit-learn and SciPy group them.
type oracle struct {
	Groups []struct {
		Name             string
		X                [][]float64
		Trees            map[string][][4]float64  // by linkage: its merges, with height and number of points
		Cuts             map[string]map[int][]int // by linkage and k
		Heights          map[string]float64       // by linkage: a height
		At               map[string][]int         // labels there
		KMeans, Spectral map[int][]int            // by k
		Widths           map[int][]float64        // silhouettes of Ward's groups, by k
		PCA              [][]float64
	}
	Agreements []struct {
		Labels, Truth []int
		cluster.Agreement
	}
}

// The stored cases are from scikit-learn 1.9.1 and SciPy 1.17.1.
func TestAgainstStoredCases(t *testing.T) {
	stored := expect.Value(os.ReadFile("testdata/cases.json"))(t)
	compare(t, stored)
}

func TestAgainstScikitLearnAndSciPy(t *testing.T) {
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" || exec.Command(python, "-c", "import scipy, sklearn").Run() != nil {
		t.Skip("FEDKIT_PYTHON does not name a Python with scikit-learn and SciPy")
	}
	for seed := 1; seed <= 3; seed++ {
		out := expect.Value(exec.Command(python, "testdata/oracle.py", strconv.Itoa(seed)).Output())(t)
		compare(t, out)
	}
}

func compare(t *testing.T, said []byte) {
	var o oracle
	expect.OK(t, json.Unmarshal(said, &o))
	for _, c := range o.Groups {
		x := mat.NewDense(len(c.X), len(c.X[0]), slices.Concat(c.X...))
		vectors := cluster.FromVectors(x)
		known := map[string]*cluster.Points{"vectors": vectors, "inner products": cluster.FromGram(vectors.Gram()), "distances": cluster.FromDistances(vectors.Distances())}
		if c.Name == "noise far from 0" {
			delete(known, "inner products") // too few digits for the distances
		}
		for as, p := range known {
			what := c.Name + ", " + as
			for name, want := range c.Trees {
				tree := link(t, p, all[slices.IndexFunc(all, func(by cluster.Linkage) bool { return strings.EqualFold(by.String(), name) })])
				for s, m := range tree {
					w := want[s]
					if math.Abs(m.Height-w[2]) > 1e-6 || m.A != int(w[0]) || m.B != int(w[1]) || m.Size != int(w[3]) {
						t.Errorf("%s, %s: merge %d is %v, want %v", what, name, s, m, w)
						break
					}
				}
				expect.That(t, len(tree) == len(want), "%s, %s: %d merges, want %d", what, name, len(tree), len(want))
				for k, labels := range c.Cuts[name] {
					same(t, what+", "+name, k, tree.Cut(k), labels)
				}
				same(t, what+", "+name+" by height", 0, tree.CutAt(c.Heights[name]), c.At[name])
			}
			for k, want := range c.KMeans {
				labels, err := cluster.KMeans{Starts: 50}.Cluster(p, k, rand.New(rand.NewPCG(1, 1)))
				same(t, what+", k-means", k, labels, want, err)
			}
			for k, want := range c.Widths {
				got := cluster.Silhouette(p, c.Cuts["ward"][k])
				for i := range want {
					expect.That(t, near(got[i], want[i], 1e-7), "%s: point %d of %d groups has silhouette %v, want %v", what, i, k, got[i], want[i])
				}
			}
			coordinates(t, what, p, c.PCA)
			if as == "distances" {
				continue // have no angles
			}
			for k, want := range c.Spectral {
				labels, err := cluster.Spectral{}.Cluster(p, k, rand.New(rand.NewPCG(1, 1)))
				same(t, what+", spectral", k, labels, want, err)
			}
		}
	}
	for _, a := range o.Agreements {
		if got := cluster.Agree(a.Labels, a.Truth); !agree(got, a.Agreement, 1e-12) {
			t.Errorf("%v, %v: %v, want %v", a.Labels, a.Truth, got, a.Agreement)
		}
	}
}

func link(t *testing.T, p *cluster.Points, by cluster.Linkage) cluster.Tree {
	t.Helper()
	return expect.Value(cluster.Link(p, by))(t)
}

func same(t *testing.T, what string, k int, got, want []int, err ...error) {
	t.Helper()
	if len(err) > 0 && err[0] != nil {
		t.Errorf("%s, k = %d: %v", what, k, err[0])
	} else if cluster.Agree(got, want).ARI != 1 {
		t.Errorf("%s, k = %d: labels %v, want %v", what, k, got, want)
	}
}

// coordinates compares up to the axes' signs.
func coordinates(t *testing.T, what string, p *cluster.Points, want [][]float64) {
	t.Helper()
	if want == nil {
		return
	}
	got := expect.Value(cluster.PCA(p, len(want[0])))(t)
	for c := range want[0] {
		plus, minus := 0.0, 0.0
		for i := range want {
			plus = max(plus, math.Abs(got.At(i, c)-want[i][c]))
			minus = max(minus, math.Abs(got.At(i, c)+want[i][c]))
		}
		expect.That(t, min(plus, minus) <= 1e-6, "%s: axis %d is off by %v", what, c, min(plus, minus))
	}
}
