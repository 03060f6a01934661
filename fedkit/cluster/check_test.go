package cluster_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/mat"
)

var nan, inf = math.NaN(), math.Inf(1)

// methods are all that group points.
var methods = map[string]cluster.Clusterer{
	"k-means":             cluster.KMeans{},
	"Ward":                cluster.Agglomerative{},
	"average":             cluster.Agglomerative{Linkage: cluster.Average},
	"single":              cluster.Agglomerative{Linkage: cluster.Single},
	"complete":            cluster.Agglomerative{Linkage: cluster.Complete},
	"spectral":            cluster.Spectral{},
	"spectral, Gaussian":  cluster.Spectral{Affinity: cluster.Gaussian{}},
	"spectral, shifted":   cluster.Spectral{Affinity: cluster.ShiftedCosine{}},
	"the best silhouette": cluster.BestSilhouette{},
	"the best of k-means": cluster.BestSilhouette{Of: cluster.KMeans{}},
	"stratified":          cluster.Stratified{},
}

func apart(n int, values ...float64) *cluster.Points {
	d := cluster.NewCondensed(n)
	copy(d.Values(), values)
	return cluster.FromDistances(d)
}

func TestBadPoints(t *testing.T) {
	for _, c := range []struct {
		p    *cluster.Points
		want string
	}{
		{nil, "the number of points = 0: must be at least 1"},
		{new(cluster.Points), "the number of points = 0"},
		{cluster.FromVectors(nil), "the number of points = 0"},
		{cluster.FromVectors(new(mat.Dense)), "the number of points = 0"},
		{cluster.FromGram(nil), "the number of points = 0"},
		{cluster.FromGram(new(mat.SymDense)), "the number of points = 0"},
		{cluster.FromShiftedGram(mat.NewSymDense(1, nil)), "the number of points = 0"},
		{cluster.FromDistances(nil), "the number of points = 0"},
		{apart(0), "the number of points = 0"},
		{apart(-2), "the number of points = 0"},
		{cluster.FromVectors(mat.NewDense(2, 2, []float64{0, 1, nan, 3})), "feature 0 of point 1 = NaN: must be a number, at most 1e100 in size"},
		{cluster.FromVectors(mat.NewDense(2, 2, []float64{0, -inf, 2, 3})), "feature 1 of point 0 = -Inf"},
		{cluster.FromVectors(mat.NewDense(1, 1, []float64{1e200})), "feature 0 of point 0 = 1e+200"},
		{cluster.FromGram(mat.NewSymDense(2, []float64{0, nan, 0, 3})), "the inner product of points 0 and 1 = NaN: must be a number, at most 1e200 in size"},
		{cluster.FromShiftedGram(mat.NewSymDense(2, []float64{1, inf, 0, 3})), "the inner product of point 0 and the common part = +Inf"},
		{cluster.FromShiftedGram(mat.NewSymDense(2, []float64{1, 1, 0, nan})), "the squared length of the common part = NaN"},
		{apart(3, 1, -1, 2), "the distance of points 0 and 2 = -1: must be a number in [0, 1e100]"},
		{apart(3, 1, 1, nan), "the distance of points 1 and 2 = NaN"},
	} {
		for name, m := range methods {
			labels, err := m.Cluster(c.p, 1, rand.New(rand.NewPCG(1, 1)))
			expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v, %v; want %q", name, labels, err, c.want)
		}
		if _, err := cluster.PCA(c.p, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("principal axes: %v, want %q", err, c.want)
		}
		if got := cluster.Silhouette(c.p, []int{0, 1}); len(got) != c.p.Len() {
			t.Errorf("silhouettes %v of %d points", got, c.p.Len())
		}
	}
}

func TestBadOptions(t *testing.T) {
	negative := func(*cluster.Points) (*mat.SymDense, error) { return mat.NewSymDense(2, []float64{0, -1, -1, 0}), nil }
	missing := func(*cluster.Points) (*mat.SymDense, error) { return nil, nil }
	for want, c := range map[string]struct {
		m cluster.Clusterer
		k int
	}{
		"invalid: k = 0: must be at least 1":                                        {cluster.KMeans{}, 0},
		"invalid: k = -1: must be at least 1":                                       {cluster.Spectral{}, -1},
		"invalid: k = 0: must be at least 1, or a Height":                           {cluster.Agglomerative{}, 0},
		"invalid: k = -1: must be at least 1, or 0 for no limit":                    {cluster.Agglomerative{Height: 1}, -1},
		"invalid: k = -2: must be at least 1, or 0 for no limit":                    {cluster.BestSilhouette{}, -2},
		"invalid: Height = -1: must be a number ≥ 0":                                {cluster.Agglomerative{Height: -1}, 1},
		"invalid: Height = NaN: must be a number ≥ 0":                               {cluster.Agglomerative{Height: nan}, 1},
		"invalid: Linkage = Linkage(7): must be Ward, Average, Single or Complete":  {cluster.Agglomerative{Linkage: 7}, 1},
		"invalid: Starts = -1: must be at least 1, or 0 for the default of 10":      {cluster.KMeans{Starts: -1}, 1},
		"invalid: Starts = -2: must be at least 1, or 0 for the default of 10":      {cluster.Spectral{Starts: -2}, 1},
		"invalid: Iterations = -1: must be at least 1, or 0 for the default of 300": {cluster.KMeans{Iterations: -1}, 1},
		"invalid: Min = 1: must be at least 2, or 0 for the default of 2":           {cluster.BestSilhouette{Min: 1}, 1},
		"invalid: Max = 3: must be at least 2 and Min, or 0 for the default of 10":  {cluster.BestSilhouette{Min: 4, Max: 3}, 1},
		"invalid: Gamma = -1: must be a number > 0, or 0 for the default of 1":      {cluster.Spectral{Affinity: cluster.Gaussian{Gamma: -1}}, 1},
		"invalid: Affinity of points 0 and 1 = -1: must be a number in [0, 1e100]":  {cluster.Spectral{Affinity: cluster.AffinityFunc(negative)}, 1},
		"invalid: what Affinity returned = nothing: must be a matrix for 2 points":  {cluster.Spectral{Affinity: cluster.AffinityFunc(missing)}, 1},
	} {
		labels, err := c.m.Cluster(cluster.FromVectors(mat.NewDense(2, 1, []float64{1, 2})), c.k, nil)
		expect.That(t, err != nil && err.Error() == want, "%v, %v; want %q", labels, err, want)
	}
	if _, err := cluster.PCA(apart(2, 1), 0); err == nil || err.Error() != "invalid: d = 0: must be at least 1" {
		t.Error(err)
	}
}

// Whatever the points, each method returns one label per point, numbered by the first points, of at most k groups; of k groups
// if the method does not choose their number and there are as many points.
func TestDegeneratePoints(t *testing.T) {
	for name, p := range map[string]*cluster.Points{
		"one point":            cluster.FromVectors(mat.NewDense(1, 3, []float64{1, 2, 3})),
		"one zero":             cluster.FromGram(mat.NewSymDense(1, nil)),
		"one without distance": apart(1),
		"two points":           cluster.FromVectors(mat.NewDense(2, 1, []float64{1, 2})),
		"zeros":                cluster.FromVectors(mat.NewDense(5, 2, nil)),
		"zero inner products":  cluster.FromGram(mat.NewSymDense(5, nil)),
		"no distance":          apart(4),
		"all at one distance":  apart(4, 1, 1, 1, 1, 1, 1),
		"a constant":           cluster.FromVectors(mat.NewDense(4, 1, []float64{7, 7, 7, 7})),
		"opposite":             cluster.FromVectors(mat.NewDense(4, 1, []float64{-1, 1, -1, 1})),
		"tiny":                 cluster.FromVectors(mat.NewDense(3, 1, []float64{-1e-300, 1e-300, 3e-300})),
		"huge":                 cluster.FromVectors(mat.NewDense(3, 1, []float64{-1e100, 1e100, 9e99})),
		"no triangle":          apart(3, 1, 100, 1),
		"negative lengths":     cluster.FromGram(mat.NewSymDense(3, []float64{-1, 0, 0, 0, -1, 0, 0, 0, -1})),
	} {
		for method, m := range methods {
			for _, k := range []int{1, 2, 3, 9} {
				labels, err := m.Cluster(p, k, rand.New(rand.NewPCG(1, 1)))
				if err != nil {
					t.Errorf("%s, %s, k = %d: %v", name, method, k, err)
					continue
				}
				_, finds := m.(cluster.BestSilhouette)
				count := slices.Max(labels) + 1
				expect.That(t, len(labels) == p.Len() && slices.Equal(labels, cluster.Renumber(labels)) && count <= k && (finds || count == min(k, p.Len())), "%s, %s, k = %d: %v", name, method, k, labels)
				for _, s := range cluster.Silhouette(p, labels) {
					expect.That(t, math.Abs(s) <= 1, "%s, %s: silhouette %v", name, method, s)
				}
			}
		}
		at, err := cluster.PCA(p, 3)
		expect.That(t, err == nil && mat.Sum(at) == mat.Sum(at) && at.RawMatrix().Rows == p.Len() && at.RawMatrix().Cols == 3, "%s: %v, %v", name, at, err)
	}
}

// Whatever the bytes, a method returns labels or an error, and never panics.
func FuzzCluster(f *testing.F) {
	f.Add([]byte{3, 2, 0, 1}, uint8(2))
	f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(nan)), uint8(1))
	f.Fuzz(func(t *testing.T, bytes []byte, n uint8) {
		n %= 12
		values := make([]float64, max(int(n)*int(n), 1))
		for i := range values {
			var eight [8]byte
			for j := range eight {
				if len(bytes) > 0 {
					eight[j] = bytes[(8*i+j)%len(bytes)]
				}
			}
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(eight[:]))
		}
		known := []*cluster.Points{apart(int(n), values...)}
		if n > 0 {
			known = append(known, cluster.FromVectors(mat.NewDense(int(n), int(n), values)),
				cluster.FromGram(mat.NewSymDense(int(n), values)), cluster.FromShiftedGram(mat.NewSymDense(int(n), values)))
		}
		for _, p := range known {
			for name, m := range methods {
				for _, k := range []int{-1, 0, 1, 3, 20} {
					labels, err := m.Cluster(p, k, rand.New(rand.NewPCG(1, 1)))
					if err == nil && (len(labels) != p.Len() || slices.Min(labels) < 0 || k > 0 && slices.Max(labels) >= k) {
						t.Errorf("%s, k = %d: %v", name, k, labels)
					}
				}
			}
			cluster.PCA(p, 2)
			cluster.Silhouette(p, []int{0, 1, 0, 2, -1})
		}
	})
}
