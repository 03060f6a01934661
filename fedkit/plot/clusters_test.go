package plot

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// assignments is a run with the clusters of its rounds 1, 2, ….
func assignments(rounds ...[]int) *fedkit.History {
	h := &fedkit.History{Name: "run", Strategy: "FedClust"}
	for i, c := range rounds {
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Clusters: c})
	}
	return h
}

// A group keeps its color even if a method renumbers its clusters in each round.
func TestClustersKeepTheirColors(t *testing.T) {
	f := Clusters(assignments([]int{0, 0, 1, 1}, []int{1, 1, 0, 0}, []int{2, -1, 0, 0}, []int{1, 1, 1, 0}))
	expect.OK(t, f.Err())
	expect.Must(t, len(f.Series) == 2 && f.Series[0].Name == "cluster 0" && f.Series[1].Name == "cluster 1", "%+v", f.Series)
	// Clients 0 and 1 stay, though 1 is without a cluster for a round; client 2 changes to them in round 4.
	a, b := f.Series[0], f.Series[1]
	want := []float64{0.5, 0.5, 3.5, 3.5}
	expect.That(t, slices.Equal(a.X, want), "cluster 0 from %v, want %v", a.X, want)
	want = []float64{4.5, 2.5, 4.5, 4.5}
	expect.That(t, slices.Equal(a.X2, want), "cluster 0 to %v, want %v", a.X2, want)
	expect.That(t, slices.Equal(b.X, []float64{0.5, 0.5}) && slices.Equal(b.X2, []float64{3.5, 4.5}), "cluster 1 from %v to %v", b.X, b.X2)
}

// Sorted by true group, clients of one group are side by side, with a line between groups and a strip. The cluster where most of a
// group are has the number and the color of the group.
func TestClustersByGroup(t *testing.T) {
	f := Clusters(assignments([]int{5, 3, 5, 3, 3}, []int{5, 3, 5, 3, 5}), 0, 1, 0, 1, 1)
	expect.OK(t, f.Err())
	want := []string{"0", "2", "1", "3", "4"}
	expect.That(t, slices.Equal(f.Y.Names, want), "rows %v, want %v", f.Y.Names, want)
	var names []string
	for _, s := range f.Series {
		names = append(names, s.Name)
	}
	want = []string{"cluster 0", "cluster 1", "cluster 0", "cluster 1", "border"}
	expect.Must(t, slices.Equal(names, want) && f.Series[2].Tip[0] == "0, group 0", "%v, want %v; tips %v", names, want, f.Series[2].Tip)
	border := f.Series[4]
	expect.That(t, slices.Equal(border.Y, []float64{1.5}), "borders at %v, want 1.5", border.Y)
	if s := f.Series[1]; !slices.Equal(s.Tip, []string{"1", "3", "4"}) || s.Color != 2 || f.Series[3].Color != 2 {
		t.Errorf("tips %v", s.Tip)
	}
	charttest.Golden(t, "clusters-by-group", f)
}

// Rounds in which nobody moves are one column, be they all or some of them; a client that moves all the time needs all rounds.
func TestClustersFold(t *testing.T) {
	a, b := []int{0, 0, 1, 1}, []int{0, 1, 1, 1}
	for what, c := range map[string]struct {
		f       *chart.Figure
		columns []string
		tip     string
	}{
		"never": {Clusters(assignments(a, a, a, nil, a)), []string{"1–5"}, "0, rounds 1–5"},
		"once":  {Clusters(assignments(a, b, b, b, b, nil), 0, 0, 1, 1), []string{"1", "2–5", ""}, "0, rounds 1–5"},
		"often": {Clusters(assignments(a, b, a, b), 0, 0, 1, 1), nil, "0"},
	} {
		err := c.f.Err()
		expect.That(t, err == nil && slices.Equal(c.f.X.Names, c.columns) && c.f.Series[0].Tip[0] == c.tip,
			"%s: %q, %q, %v", what, c.f.X.Names, c.f.Series[0].Tip, err)
		charttest.Spec(t, c.f)
	}
}

// grouped is a run with these numbers of clusters, agreements (NMI and purity a tenth and two tenths less) and distances.
func grouped(name string, seed uint64, ari []float64, distances ...[]fedkit.Float) *fedkit.History {
	h := &fedkit.History{Name: name, Strategy: name, Seed: seed}
	for i, a := range ari {
		a := fedkit.Float(a)
		c := &history.Clustering{Count: i + 1, ARI: a, NMI: a - 0.1, Purity: a - 0.2}
		if i < len(distances) {
			c.Distances = distances[i]
		}
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Clustering: c})
	}
	return h
}

func TestAgreement(t *testing.T) {
	a, b, c := grouped("IFCA", 0, []float64{nan, 0.4, 1}), grouped("IFCA", 1, []float64{0, 0.6, 0.8}), grouped("CFL", 0, []float64{0, 0, 0.5})
	c.Rounds = append(c.Rounds, fedkit.Record{Round: 4})
	for name, want := range map[string]struct {
		f *chart.Figure
		y []float64
	}{
		"ARI":      {Over(compare.ARI, a, b, c), []float64{0.5, 0.9}},
		"NMI":      {Over(compare.NMI, a, b, c), []float64{0.4, 0.8}},
		"purity":   {Over(compare.Purity, a, b, c), []float64{0.3, 0.7}},
		"clusters": {Over(compare.Clusters, a, b, c), []float64{1, 2, 3}},
	} {
		if err := want.f.Err(); err != nil {
			t.Fatal(name, err)
		}
		s := want.f.Series
		expect.That(t, want.f.Name == name && len(s) == 4 && s[0].Name == "IFCA" && near(s[0].Y, want.y) && s[0].Lo == nil && len(s[1].X) == 3 && s[2].Thin && len(s[3].X) == 3,
			"%s: %+v", name, s)
		expect.That(t, strings.HasPrefix(want.f.Note, "line: mean of 2 runs; thin lines: single runs; "), "note %q", want.f.Note)
	}
	five := func(low, high float64) (h []*fedkit.History) { // of the five runs, one is high in round 1 and low in round 2
		for seed := range uint64(5) {
			h = append(h, grouped("IFCA", seed, [][]float64{{low, high}, {high, low}}[min(seed/4, 1)]))
		}
		return h
	}
	f := Over(compare.ARI, five(0, 1)...)
	lo, hi := band(t, f)
	expect.That(t, lo[0] == 0 && hi[0] == 0.75529 && lo[1] == 0.24471 && hi[1] == 1 && f.Y.Bounds == [2]float64{0, 1},
		"the band is from %v to %v: no index is above 1", lo, hi) // 0.2 and 0.8 ± 0.555
	lo, hi = band(t, Over(compare.ARI, five(-0.05, 1)...))
	expect.That(t, lo[0] == -0.05 && hi[1] == 1, "the band is from %v to %v: no run is below −0.05", lo, hi) // 0.16 and 0.79 ± 0.583
	charttest.Golden(t, "ari", Over(compare.ARI, a, b, c))
	charttest.Spec(t, Over(compare.Clusters, a, b, c))
	if err := Over(compare.Clusters, grouped("x", 0, []float64{nan})).Err(); err != nil {
		t.Error("the number of clusters needs no true groups:", err)
	}
}

// A pair that comes later has a shorter line; beyond ten pairs there are three lines.
func TestClusterDistances(t *testing.T) {
	f := ClusterDistances(grouped("CFL", 0, []float64{0, 0, 0}, nil, []fedkit.Float{2}, []fedkit.Float{1, 3, 4}))
	expect.OK(t, f.Err())
	s := byName(f)
	expect.That(t, len(s) == 3 && near(s["0 and 1"].Y, []float64{2, 1}) && near(s["0 and 1"].X, []float64{2, 3}) &&
		near(s["0 and 2"].Y, []float64{3}) && near(s["1 and 2"].Y, []float64{4}), "%+v", f.Series)
	var many []fedkit.Float
	for i := range 15 {
		many = append(many, fedkit.Float(i+1))
	}
	f = ClusterDistances(grouped("IFCA", 0, []float64{0, 0}, many, many))
	expect.OK(t, f.Err())
	s = byName(f)
	expect.That(t, len(s) == 3 && near(s["farthest pair"].Y, []float64{15, 15}) && near(s["mean of all pairs"].Y, []float64{8, 8}) &&
		near(s["nearest pair"].Y, []float64{1, 1}) && f.Note == "15 pairs of clusters", "%+v, note %q", f.Series, f.Note)
	charttest.Golden(t, "cluster-distances", f)
}

// small is ((0 2) 4) and (1 3), merged at last.
var small = cluster.Tree{{A: 0, B: 2, Height: 1, Size: 2}, {A: 1, B: 3, Height: 2, Size: 2}, {A: 4, B: 5, Height: 3, Size: 3}, {A: 6, B: 7, Height: 6, Size: 5}}

func byName(f *chart.Figure) map[string]chart.Series {
	all := map[string]chart.Series{}
	for _, s := range f.Series {
		all[s.Name] = s
	}
	return all
}

// By hand: the leaves are 1 3 4 0 2; the merge of 0 and 2 is at 3.5, with 4 at 2.75, that of 1 and 3 at 0.5.
func TestDendrogram(t *testing.T) {
	f := Dendrogram(small, small.Cut(2), 0, 1, 0, 1, 1)
	expect.OK(t, f.Err())
	want := []string{"1", "3", "4", "0", "2"}
	expect.That(t, slices.Equal(f.X.Names, want), "leaves %v, want %v", f.X.Names, want)
	s := byName(f)
	expect.Must(t, len(s) == 5 && len(f.Series) == 5, "%+v", f.Series)
	// Each merge has two legs, in the colors of what they hold, and a bar, in that of both.
	for _, c := range []struct {
		name  string
		x, x2 []float64
		y, y2 []float64
	}{
		{"cluster 0", []float64{3, 4, 3, 2, 3.5, 2, 2.75}, []float64{3, 4, 4, 2, 3.5, 3.5, 2.75}, []float64{0, 0, 1, 1, 0, 3, 3}, []float64{1, 1, 1, 3, 3, 3, 6}},
		{"cluster 1", []float64{0, 1, 0, 0.5}, []float64{0, 1, 1, 0.5}, []float64{0, 0, 2, 2}, []float64{2, 2, 2, 6}},
		{"several clusters", []float64{0.5}, []float64{2.75}, []float64{6}, []float64{6}},
	} {
		got := s[c.name]
		swap := func(v, w []float64) bool { // the legs of a merge may come in either order
			a, b := slices.Sorted(slices.Values(v)), slices.Sorted(slices.Values(w))
			return near(a, b)
		}
		expect.That(t, swap(got.X, c.x) && swap(got.X2, c.x2) && swap(got.Y, c.y) && swap(got.Y2, c.y2),
			"%s: from (%v, %v) to (%v, %v)", c.name, got.X, got.Y, got.X2, got.Y2)
	}
	expect.That(t, near(f.Targets, []float64{4.5}), "cut at %v, want between 3 and 6", f.Targets)
	// The clusters have the groups' colors.
	one := s["group 1"]
	expect.That(t, one.Color == s["cluster 1"].Color && slices.Equal(one.Tip, []string{"1", "3", "4"}) && near(one.X, []float64{0, 1, 2}) && s["cluster 0"].Color == 1,
		"%+v", one)
	charttest.Golden(t, "dendrogram", f)
}

func TestDendrogramCuts(t *testing.T) {
	for says, c := range map[string]struct {
		labels []int
		cut    []float64
		series int
	}{
		"no labels":    {nil, nil, 1},
		"one cluster":  {small.Cut(1), nil, 2},
		"all alone":    {small.Cut(5), []float64{0.5}, 6},
		"by height":    {small.CutAt(2), []float64{2.5}, 4},
		"another tree": {[]int{0, 0, 1, 1, 1}, nil, 3},
		"some without": {[]int{0, -1, 0, -1, 0}, nil, 2},
	} {
		f := Dendrogram(small, c.labels)
		expect.That(t, f.Err() == nil && near(f.Targets, c.cut) && len(f.Series) == c.series,
			"%s: cut at %v, %d series, %v", says, f.Targets, len(f.Series), f.Err())
		expect.That(t, (says == "another tree" || says == "some without") == (f.Note == "the clusters are not a cut of this tree"), "note %q", f.Note)
	}
}

// In a large tree the earliest merges are drawn as one leaf; no client is lost.
func TestDendrogramOfMany(t *testing.T) {
	p, truth := blobs(300, 4, 10, 0.3, 1)
	tree := expect.Value(cluster.Link(p, cluster.Ward))(t)
	f := Dendrogram(tree, tree.Cut(4), truth...)
	expect.OK(t, f.Err())
	expect.That(t, len(f.X.Names) == 100 && strings.Contains(f.Note, "merged below") && f.Fits(),
		"%d leaves, note %q, all drawn: %v", len(f.X.Names), f.Note, f.Fits())
	lines := 0
	for _, s := range f.Series {
		if s.Mark == chart.Segments {
			lines += len(s.X)
		}
	}
	expect.That(t, lines == 3*99, "%d lines for 99 merges", lines)
	charttest.Spec(t, f)
}

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
	b := s["border"]
	expect.That(t, near(b.X, []float64{1.5, -0.5}) && near(b.Y, []float64{-0.5, 1.5}), "borders from %v, %v", b.X, b.Y)
	g := s["group 1"]
	expect.That(t, slices.Equal(g.Tip, []string{"0", "2", "3"}) && near(g.Y, []float64{2.5, 1.5, -0.5}), "strip %+v", g)
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
	got := f.X.Names
	expect.That(t, slices.Equal(got, []string{"1", "0", "2"}) || slices.Equal(got, []string{"0", "2", "1"}), "order %v", got)
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
		got := least([]float64{1, c[0]})
		expect.That(t, math.Abs(got-c[1]) <= 1e-12, "the scale of cosines from %g begins at %g, want %g", c[0], got, c[1])
	}
	same := mat.NewSymDense(2, []float64{1, 1, 1, 1})
	f := Similarities(cluster.FromGram(same), nil)
	expect.That(t, f.Err() == nil, "%v", f.Err())
}

// A true group has one color in all figures, and clusters have that of the group that agrees with them best, whatever their numbers.
func TestOneColorPerGroup(t *testing.T) {
	labels, truth := []int{7, 7, 2, 2, 4}, []int{0, 0, 1, 1, 1}
	expect.That(t, maps.Equal(likeGroups(labels, truth), map[int]int{7: 0, 2: 1, 4: 2}), "%v", likeGroups(labels, truth))
	expect.That(t, maps.Equal(likeGroups(labels, nil), map[int]int{7: 7, 2: 2, 4: 4}), "%v", likeGroups(labels, nil))
	p := cluster.FromVectors(mat.NewDense(5, 2, []float64{0, 1, 0, 2, 5, 1, 5, 2, 9, 9}))
	tree := expect.Value(cluster.Link(p, cluster.Average))(t)
	pca := PCA(p, labels, truth...)
	for name, f := range map[string]*chart.Figure{"similarities": Similarities(p, labels, truth...), "dendrogram": Dendrogram(tree, labels, truth...),
		"PCA": pca[0], "groups of PCA": pca[1], "clusters": Clusters(assignments(labels), truth...)} {
		expect.OK(t, f.Err())
		for _, s := range f.Series {
			var g int
			switch _, err := fmt.Sscanf(s.Name, "group %d", &g); {
			case err == nil:
				expect.That(t, s.Color == g+1, "%s: %s has color %d", name, s.Name, s.Color)
			case s.Name == "cluster 7":
				expect.That(t, s.Color == 1, "%s: %s has color %d", name, s.Name, s.Color)
			}
		}
	}
	expect.That(t, Clusters(assignments(labels), truth...).Series[0].Name == "cluster 0", "clusters are not numbered like the groups")
}

// By hand: points on a cross, ±3 along one axis and ±1 along another, in any origin. The shares are 18/20 and 2/20.
func TestPCA(t *testing.T) {
	x := mat.NewDense(4, 3, []float64{
		10, 3, 5,
		10, -3, 5,
		11, 0, 5,
		9, 0, 5,
	})
	row := PCA(cluster.FromVectors(x), []int{0, 1, -1, 0}, 0, 0, 1, 1)
	expect.OK(t, row.Err())
	f, g := row[0], row[1]
	expect.That(t, f.X.Title == "first component (90.0 % of the variance)" && f.Y.Title == "second component (10.0 % of the variance)",
		"axes %q and %q", f.X.Title, f.Y.Title)
	s := byName(f)
	expect.Must(t, len(s) == 3 && slices.Equal(s["cluster 0"].Tip, []string{"0", "3"}) && slices.Equal(s["no cluster"].Tip, []string{"2"}), "%+v", f.Series)
	a, b := s["cluster 0"].X[0], s["cluster 1"].X[0]
	expect.That(t, near([]float64{a * b}, []float64{-9}), "clients 0 and 1 are at %g and %g, want 3 and −3", a, b)
	a, b = s["cluster 0"].Y[1], s["no cluster"].Y[0]
	expect.That(t, near([]float64{a * b}, []float64{-1}), "clients 3 and 2 are at %g and %g, want 1 and −1", a, b)
	expect.That(t, g.Series[0].Name == "group 0" && g.Series[0].Color == 1 && s["cluster 1"].Color == 1 && s["cluster 0"].Color == 2, "%+v", g.Series[0])
	expect.That(t, s["no cluster"].Color == gray, "%+v", s["no cluster"])
	charttest.Spec(t, row)
}

func TestPCAOfOneColor(t *testing.T) {
	p, truth := blobs(400, 3, 20, 0.2, 2)
	row := PCA(p, nil)
	err := row.Err()
	expect.Must(t, err == nil && len(row) == 1 && len(row[0].Series) == 1 && row[0].Series[0].Name == "clients" && len(row[0].Series[0].X) == 400,
		"%+v, %v", row, err)
	charttest.Spec(t, row)
	charttest.Spec(t, PCA(p, truth, truth...))
	// Two points have one component.
	if row := PCA(cluster.FromVectors(mat.NewDense(2, 1, []float64{0, 2})), nil); row.Err() != nil || row[0].X.Title != "first component (100.0 % of the variance)" {
		t.Error(row[0].X.Title, row.Err())
	}
}
