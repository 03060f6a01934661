package cluster_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/mat"
)

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
				if len(tree) != len(want) {
					t.Errorf("%s, %s: %d merges, want %d", what, name, len(tree), len(want))
				}
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
					if !near(got[i], want[i], 1e-7) {
						t.Errorf("%s: point %d of %d groups has silhouette %v, want %v", what, i, k, got[i], want[i])
					}
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
		if min(plus, minus) > 1e-6 {
			t.Errorf("%s: axis %d is off by %v", what, c, min(plus, minus))
		}
	}
}
