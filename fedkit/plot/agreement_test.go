package plot

import (
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

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
	if lo, hi := band(t, f); lo[0] != 0 || hi[0] != 0.75529 || lo[1] != 0.24471 || hi[1] != 1 || f.Y.Bounds != [2]float64{0, 1} { // 0.2 and 0.8 ± 0.555
		t.Errorf("the band is from %v to %v: no index is above 1", lo, hi)
	}
	if lo, hi := band(t, Over(compare.ARI, five(-0.05, 1)...)); lo[0] != -0.05 || hi[1] != 1 { // 0.16 and 0.79 ± 0.583
		t.Errorf("the band is from %v to %v: no run is below −0.05", lo, hi)
	}
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
