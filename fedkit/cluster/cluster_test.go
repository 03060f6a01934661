package cluster_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"gonum.org/v1/gonum/mat"
)

// points are 60 points in three dimensions; gram is their Gram matrix.
func points() *mat.SymDense {
	x := mat.NewDense(60, 3, nil)
	for i := range 60 {
		f, g := float64(i), float64(i%3)
		x.SetRow(i, []float64{math.Sin(f*1.7)*3 + g*5, math.Cos(f*2.3)*2 - g*4, math.Sin(f * 0.9)})
	}
	var g mat.SymDense
	g.SymOuterK(1, x)
	return &g
}

// scikit-learn 1.9.1: KMeans(k, n_init=50, random_state=0).fit(P) with
// P = np.stack([np.sin(i*1.7)*3+(i%3)*5, np.cos(i*2.3)*2-(i%3)*4, np.sin(i*.9)], 1), i = np.arange(60).
func TestKMeansAgainstScikitLearn(t *testing.T) {
	gram := points()
	for _, c := range []struct {
		k       int
		inertia float64
		sizes   []int
	}{
		{2, 675.7826083278422, []int{28, 32}},
		{3, 394.07577493064946, []int{17, 21, 22}},
		{5, 233.01106248966818, []int{5, 12, 13, 14, 16}},
	} {
		labels := expect.Value(cluster.KMeans{Starts: 50}.Cluster(cluster.FromGram(gram), c.k, rand.New(rand.NewPCG(1, 1))))(t)
		inertia, sizes := mat.Trace(gram), []int(nil)
		for _, group := range cluster.Members(labels, c.k) {
			sizes = append(sizes, len(group))
			for _, i := range group {
				for _, j := range group {
					inertia -= gram.At(i, j) / float64(len(group)) // ‖x_i − mean‖² are ‖x_i‖² − ‖mean‖² in sum
				}
			}
		}
		slices.Sort(sizes)
		expect.That(t, math.Abs(inertia-c.inertia) <= 1e-9*c.inertia && slices.Equal(sizes, c.sizes), "k = %d: inertia %v, sizes %v; want %v, %v", c.k, inertia, sizes, c.inertia, c.sizes)
	}
}

// SciPy 1.17.1: linear_sum_assignment(C, maximize=True) with C = np.round(np.sin(np.arange(49)*1.3).reshape(7,7)*10, 3)
// gives rows 0…6 the columns 1 4 6 0 2 5 3.
func TestMatchAgainstSciPy(t *testing.T) {
	c := make([][]float64, 7)
	for i := range 49 {
		c[i/7] = append(c[i/7], math.Round(math.Sin(float64(i)*1.3)*1e4)/1e3)
	}
	want := []int{3, 0, 4, 6, 1, 5, 2}
	if got := cluster.Match(c); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A group without a member, whose cosine is NaN, gets no weight, even among the largest.
func TestSoftTop(t *testing.T) {
	nan, e := math.NaN(), math.Exp(-1) // e^((0.4−0.9)/0.5)
	for _, c := range []struct {
		v           []float64
		m           int
		temperature float64
		want        []float64
	}{
		{[]float64{0.1, 0.9, 0.4, 0.9}, 3, 0.5, []float64{0, 1 / (2 + e), e / (2 + e), 1 / (2 + e)}},
		{[]float64{nan, -0.5, nan, -0.5}, 4, 1, []float64{0, 0.5, 0, 0.5}},
		{[]float64{nan, -0.9, 0.1}, 1, 1, []float64{0, 0, 1}},
		{[]float64{0.3, 0.3}, 5, 1, []float64{0.5, 0.5}},
		{[]float64{nan, nan}, 2, 1, []float64{0, 0}},
		{[]float64{1, 2}, -1, 1, []float64{0, 0}},
		{[]float64{1, 2}, 0, 1, []float64{0, 0}},
		{[]float64{1, 2, 2, math.Inf(-1)}, 4, 0, []float64{0, 0.5, 0.5, 0}},
	} {
		if got := cluster.SoftTop(c.v, c.m, c.temperature); !slices.EqualFunc(got, c.want, func(a, b float64) bool { return near(a, b, 1e-12) }) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestMembersOfNoGroup(t *testing.T) {
	got := cluster.Members([]int{1, -1, 2, 1}, 2)
	if len(got) != 2 || got[0] != nil || !slices.Equal(got[1], []int{0, 3}) {
		t.Errorf("%v", got)
	}
}

func TestCosines(t *testing.T) {
	// The points (1, 0), (1, 1), (0, 0) in groups {0, 1}, {2} and an empty one.
	gram := mat.NewSymDense(3, []float64{1, 1, 0, 1, 2, 0, 0, 0, 0})
	got := cluster.Cosines(gram, []int{0, 0, 1}, 3)
	to := []float64{1 / math.Sqrt(1.25), 1.5 / math.Sqrt(2*1.25), 0} // the mean is (1, 0.5)
	for i, want := range to {
		expect.That(t, math.Abs(got[i][0]-want) <= 1e-12 && got[i][1] == 0 && math.IsNaN(got[i][2]), "point %d: %v, want %v, 0, NaN", i, got[i], want)
	}
}

// Nine models in three groups that differ by 1e-4 of their length. All inner products are rounded to float32, as they
// come from the device. The cosines must agree with those of the float64 points.
func TestCosinesOfSimilarModels(t *testing.T) {
	const n, d, k = 9, 500, 3
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(length float64) []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.NormFloat64() * length / math.Sqrt(d)
		}
		return x
	}
	models, labels := mat.NewDense(n, d, nil), make([]int, n)
	common, groups := random(1), [k][]float64{random(1e-4), random(1e-4), random(1e-4)}
	for i := range n {
		labels[i] = i % k
		own := random(1e-4)
		for j := range d {
			models.Set(i, j, common[j]+groups[labels[i]][j]+own[j])
		}
	}
	around := mat.NewDense(n+1, d, nil) // the models minus their mean, and the mean
	for j := range d {
		mean := mat.Sum(models.ColView(j)) / n
		around.Set(n, j, mean)
		for i := range n {
			around.Set(i, j, models.At(i, j)-mean)
		}
	}
	gram := func(x *mat.Dense, round bool) *mat.SymDense {
		var g mat.SymDense
		g.SymOuterK(1, x)
		if values := g.RawSymmetric().Data; round {
			copy(values, precision.Double(precision.Single(values)))
		}
		return &g
	}
	want := cluster.Cosines(gram(models, false), labels, k)
	got := cluster.Cosines(cluster.FromShiftedGram(gram(around, true)).Gram(), labels, k)
	naive := cluster.Cosines(gram(models, true), labels, k)
	wrong := 0
	for i := range n {
		for c := range k {
			if diff := math.Abs(got[i][c] - want[i][c]); diff > 1e-14 { // they differ by 1e-8
				t.Errorf("model %d, group %d: the cosine is off by %v", i, c, diff)
			}
		}
		if nearest := slices.Index(naive[i], slices.Max(naive[i])); nearest != labels[i] {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("the plain Gram matrix in float32 finds every group: the test shows nothing")
	}
}
