package plot

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// Mean and band by hand, without round 2, which one run does not have. Fewer than five runs are thin lines, with all their rounds.
func TestBandOverSeeds(t *testing.T) {
	var h []*fedkit.History
	for i, a := range []float64{0.1, 0.2, 0.3, 0.4, 0.5} {
		h = append(h, seeded(uint64(i), historyOf("FedAvg", a, 0.4, a+0.4)))
	}
	h[4].Rounds[1].Global = nil
	f := Accuracy(h...)
	expect.OK(t, f.Err())
	const half = 0.19632431614775 // 2.776445 · 0.1581139 / √5
	if s := f.Series[0]; len(f.Series) != 1 || !near(s.X, []float64{1, 3}) || !near(s.Y, []float64{0.3, 0.7}) ||
		!near(s.Lo, []float64{0.3 - half, 0.7 - half}) || !near(s.Hi, []float64{0.3 + half, 0.7 + half}) {
		t.Errorf("%+v", f.Series)
	}
	means := "; means over rounds that all runs have: FedAvg 2 of 3; values in 2 of 3 rounds (FedAvg)"
	if want := "line: mean of 5 runs; band: 95 % confidence interval" + means; f.Note != want {
		t.Errorf("note %q, want %q", f.Note, want)
	}
	f = Accuracy(h[3:]...)
	if s := f.Series; len(s) != 3 || !near(s[0].Y, []float64{0.45, 0.85}) || s[0].Hi != nil || !near(s[1].Y, []float64{0.4, 0.4, 0.8}) || !s[1].Thin || !near(s[2].X, []float64{1, 3}) {
		t.Errorf("%+v", s)
	}
	if want := "line: mean of 2 runs; thin lines: single runs" + means; f.Note != want {
		t.Errorf("note %q, want %q", f.Note, want)
	}
}

// Without a global model in every history, the clients' own count, weighted by examples: (1·0.2 + 3·0.6)/4 = 0.5.
func TestMeanOverClients(t *testing.T) {
	a := scored(historyOf("A", 0.9), 0, []float64{0.2, 0.6, nan}, []int{1, 3, 0})
	b := scored(historyOf("B", nan, nan), 1, []float64{0.25}, []int{7})
	f := Accuracy(a, b)
	expect.OK(t, f.Err())
	expect.That(t, near(f.Series[0].Y, []float64{0.5}) && near(f.Series[1].X, []float64{2}) && near(f.Series[1].Y, []float64{0.25}), "%+v", f.Series)
	expect.That(t, strings.Contains(f.Y.Title, "clients"), "axis %q", f.Y.Title)
	if f := Accuracy(a); !strings.Contains(f.Y.Title, "global") || !near(f.Series[0].Y, []float64{0.9}) {
		t.Errorf("alone: %q, %v", f.Y.Title, f.Series[0].Y)
	}
}

func TestLossAxis(t *testing.T) {
	h := historyOf("x", 0, 0, 0)
	for i, l := range []float64{1e4, 1, 0.5} {
		h.Rounds[i].Global.Loss = fedkit.Float(l)
	}
	if f := Over(compare.Loss, h); f.Err() != nil || !f.Y.Log {
		t.Errorf("%+v, %v: losses over 4 powers of ten need a logarithmic axis", f, f.Err())
	}
	if f := Over(compare.Loss, historyOf("x", 0.1, 0.5)); f.Err() != nil || f.Y.Log {
		t.Errorf("%+v, %v", f, f.Err())
	}
}

func TestBox(t *testing.T) {
	f := ClientAccuracy(scored(historyOf("A", 0.5), 0, []float64{0.4, 0.2, 0.1, 0.3, 0.5}, []int{1, 1, 1, 1, 1}))
	expect.OK(t, f.Err())
	box, dots, bar := f.Series[0], f.Series[1], f.Series[2]
	expect.That(t, near(box.X, []float64{0.2}) && near(box.X2, []float64{0.4}) && near([]float64{(bar.X[0] + bar.X2[0]) / 2}, []float64{0.3}),
		"box %v–%v, median %v–%v", box.X, box.X2, bar.X, bar.X2)
	expect.That(t, near(dots.X, []float64{0.1, 0.2, 0.3, 0.4, 0.5}) && slices.Equal(dots.Tip, []string{"2", "1", "3", "0", "4"}),
		"dots %v %v", dots.X, dots.Tip)
}

// Beyond 40 clients there are cells, and a strip of the true groups.
func TestLabelsOfManyClients(t *testing.T) {
	if f := Labels(federation(130, 4, 2, 0.5)); f.Err() != nil || f.Series[len(f.Series)-1].Name != "group 1" || f.Series[0].Tip == nil || f.Series[0].Values == nil || !strings.Contains(f.Note, "first 100 of 130") {
		t.Error(f, f.Err())
	}
}

func TestStays(t *testing.T) {
	h := &fedkit.History{Rounds: []fedkit.Record{
		{Round: 1}, {Round: 2, Clusters: []int{0, 1}}, {Round: 3}, {Round: 4, Clusters: []int{0, 0}}, {Round: 5, Clusters: []int{-1, 0}},
	}}
	rounds := expect.Value(assigned(h))(t)
	want := []stay{{0, 0, 2, 5}, {1, 1, 2, 4}, {1, 0, 4, 6}}
	if got := stays(rounds, []int{0, 1}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// Clients that change every round: only some of the rounds are drawn.
	h, rng := &fedkit.History{}, rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		a := make([]int, 60)
		for c := range a {
			a[c] = rng.IntN(3)
		}
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Clusters: a})
	}
	for _, f := range []*chart.Figure{Clusters(h), Clusters(h, make([]int, 60)...)} {
		expect.Must(t, f.Err() == nil && strings.Contains(f.Note, "of the 300 rounds") && f.Fits(), "%v %v %v", f, f.Err(), f.Fits())
		charttest.Spec(t, f)
	}
}
