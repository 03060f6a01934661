package plot

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// blobs returns points around k centers, point i around center i mod k, and their groups.
func blobs(n, k, features int, spread float64, seed uint64) (*cluster.Points, []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	centers, x, truth := mat.NewDense(k, features, nil), mat.NewDense(n, features, nil), make([]int, n)
	draw := func(mean, by float64) float64 { return mean + by*rng.NormFloat64() }
	centers.Apply(func(_, _ int, _ float64) float64 { return draw(0, 1) }, centers)
	x.Apply(func(i, j int, _ float64) float64 { return draw(centers.At(i%k, j), spread) }, x)
	for i := range truth {
		truth[i] = i % k
	}
	return cluster.FromVectors(x), truth
}

// By hand: cosines 0.9 between 0 and 2, 0.8 between 1 and 3, −0.5 and less for all others.
var alike4 = mat.NewSymDense(4, []float64{
	1, -0.5, 0.9, -0.6,
	-0.5, 1, -0.7, 0.8,
	0.9, -0.7, 1, -0.5,
	-0.6, 0.8, -0.5, 1,
})

func TestSimilarities(t *testing.T) {
	f := Similarities(cluster.FromGram(alike4), []int{0, 1, 0, 1}, 1, 0, 1, 1)
	expect.OK(t, f.Err())
	expect.That(t, slices.Equal(f.Y.Names, []string{"3", "1", "2", "0"}) && slices.Equal(f.X.Names, []string{"0", "", "1", "", "", ""}),
		"rows from the bottom %q, columns %q", f.Y.Names, f.X.Names)
	values, s, cells := map[string]float64{}, byName(f), f.Series[0]
	for i, tip := range cells.Tip {
		values[tip] = cells.Values[i]
	}
	for tip, want := range map[string]float64{"0 and 2: 0.9": 0.9, "2 and 0: 0.9": 0.9, "1 and 3: 0.8": 0.8, "3 and 0: −0.6": -0.6, "0 and 0: 1": 0.9} {
		expect.That(t, math.Abs(values[tip]-want) <= 1e-12, "%s has the color of %g, want %g", tip, values[tip], want)
	}
	expect.That(t, len(values) == 16 && slices.Equal(cells.Covers, []float64{-1, 1}), "%d cells, want 16, on a scale over %v", len(values), cells.Covers)
	if b := s["border"]; !near(b.X, []float64{1.5, -0.5}) || !near(b.Y, []float64{-0.5, 1.5}) {
		t.Errorf("borders from %v, %v", b.X, b.Y)
	}
	if g := s["group 1"]; !slices.Equal(g.Tip, []string{"0", "2", "3"}) || !near(g.Y, []float64{2.5, 1.5, -0.5}) {
		t.Errorf("strip %+v", g)
	}
	charttest.Golden(t, "similarities", f)
}

// Many clients are one image: each cluster, and all of it, is there.
func TestSimilaritiesOfMany(t *testing.T) {
	for _, n := range []int{100, 300} {
		p, truth := blobs(n, 4, 10, 0.2, 3)
		f := Similarities(p, truth, truth...)
		expect.OK(t, f.Err())
		rows := min(n, 200)
		s := byName(f)
		expect.That(t, len(f.Y.Names) == rows && len(f.Series[0].Values) == rows*rows && f.Fits() && len(s["border"].X) == 6,
			"%d rows, %d borders, all drawn: %v", len(f.Y.Names), len(s["border"].X), f.Fits())
		expect.That(t, (n > rows) == strings.Contains(f.Note, "200 of 300 clients"), "note %q", f.Note)
		charttest.Spec(t, f)
	}
}

func TestSimilaritiesOfFew(t *testing.T) {
	zero := mat.NewSymDense(3, []float64{4, 0, 2, 0, 0, 0, 2, 0, 1}) // 1 has length 0, 2 is half of 0
	f := Similarities(cluster.FromGram(zero), nil)
	expect.OK(t, f.Err())
	if got := f.X.Names; !slices.Equal(got, []string{"1", "0", "2"}) && !slices.Equal(got, []string{"0", "2", "1"}) {
		t.Errorf("order %v", got)
	}
	tips := map[string]bool{}
	for _, s := range f.Series {
		for _, tip := range s.Tip {
			tips[tip] = true
		}
	}
	expect.That(t, tips["0 and 2: 1"] && tips["0 and 1: 0"] && tips["1 and 1: 0"], "%v", tips)
	if f := Similarities(cluster.FromGram(mat.NewSymDense(1, []float64{2})), nil); f.Err() != nil {
		t.Error(f.Err())
	}
	// A client without a cluster comes last.
	if f := Similarities(cluster.FromGram(alike4), []int{-1, 0, 1, 1}); f.Err() != nil || f.Y.Names[0] != "0" {
		t.Errorf("%v, %v", f.Y.Names, f.Err())
	}
}

// Figures side by side have one scale, unless the cosines are all so near to 1 that nothing would be seen.
func TestScaleOfCosines(t *testing.T) {
	for _, c := range [][2]float64{{-0.3, -1}, {0.5, -1}, {0.92, 0.9}, {0.9953, 0.99}, {1, 0.999999}} {
		if got := least([]float64{1, c[0]}); math.Abs(got-c[1]) > 1e-12 {
			t.Errorf("the scale of cosines from %g begins at %g, want %g", c[0], got, c[1])
		}
	}
	same := mat.NewSymDense(2, []float64{1, 1, 1, 1})
	if f := Similarities(cluster.FromGram(same), nil); f.Err() != nil {
		t.Error(f.Err())
	}
}
