package plot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// attended returns a run in which these clients took part, with values that follow from client and round.
func attended(name string, clients int, selected ...[]int) *fedkit.History {
	h := &fedkit.History{Name: name, Clients: clients}
	for i, s := range selected {
		r := fedkit.Record{Round: i + 1}
		for _, c := range s {
			r.Results = append(r.Results, fedkit.ClientResult{Client: c, Steps: 5 + c, Loss: fedkit.Float(2 / float64(i+1)),
				Drift: fedkit.Float(0.1 + 0.15*float64(c) + 0.01*float64(i)), Mu: fedkit.Float([]float64{0.001, 0.1, 1}[(c+i)%3])})
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

func sample() *fedkit.History {
	return attended("SmartFedProx", 6, []int{0, 2}, []int{1, 2, 4}, []int{0, 5}, []int{2})
}

func TestHeat(t *testing.T) {
	h := sample()
	for of, first := range map[Of]float64{Participation: nan, Drift: 0.1, Mu: 0.001, TrainLoss: 2, Steps: 5} {
		f := Heat(h, of)
		expect.OK(t, f.Err())
		v := f.Series[0].Values
		expect.That(t, len(f.Series) == 1 && (of == Participation) == (v == nil) && (v == nil || (len(v) == 8 && near(v[:1], []float64{first}))),
			"%v: values %v, want 8 from %g", of, v, first)
		cells := map[string]bool{}
		for _, s := range f.Series {
			for i := range s.X {
				expect.That(t, s.X2[i]-s.X[i] == 1, "%v: a cell from %v to %v", of, s.X[i], s.X2[i])
				cells[fmt.Sprintf("%.0f %.0f", s.X[i]+0.5, s.Y[i]+0.46)] = true
			}
		}
		expect.That(t, len(cells) == 8 && cells["1 0"] && cells["2 4"] && cells["4 2"], "%v: the cells (round, client) are %v", of, cells)
		charttest.Golden(t, "heat-"+map[Of]string{Participation: "participation", Drift: "drift", Mu: "mu", TrainLoss: "loss", Steps: "steps"}[of], f)
	}
}

// A client without a μ has no cell, even if another has one; a loss of 0 is a value.
func TestHeatOfSome(t *testing.T) {
	h := &fedkit.History{Clients: 3, Rounds: []fedkit.Record{{Round: 1, Results: []fedkit.ClientResult{
		{Client: 0, Mu: 0.1, Similarity: 0.5, Loss: 1}, {Client: 1}, {Client: 2, Mu: 1, Similarity: -0.5}}}}}
	for of, want := range map[Of]int{Mu: 2, Similarity: 2, TrainLoss: 3} {
		f, cells := Heat(h, of), 0
		for _, s := range f.Series {
			cells += len(s.X)
		}
		expect.That(t, f.Err() == nil && cells == want, "%v: %d cells, want %d; %v", of, cells, want, f.Err())
	}
}

// Long runs are drawn in blocks of rounds, by hand: client 0 takes part in rounds 1 and 2 with figures 1 and 3, client 1
// in round 3 with 5.
func TestBlocks(t *testing.T) {
	got := blocks([]cell{{0, 1, 1, 1, 1}, {0, 2, 2, 3, 1}, {1, 3, 3, 5, 1}}, 2)
	want := []cell{{0, 1, 2, 2, 2}, {1, 3, 4, 5, 1}}
	expect.That(t, slices.Equal(got, want), "%v, want %v", got, want)
	rng := rand.New(rand.NewPCG(1, 1))
	var selected [][]int
	for range 300 {
		selected = append(selected, rng.Perm(120)[:30])
	}
	f := Heat(attended("long", 120, selected...), Drift)
	expect.OK(t, f.Err())
	expect.That(t, strings.Contains(f.Note, "mean over") && strings.Contains(f.Note, "the first 100 of 120 clients"), "note %q", f.Note)
	charttest.Spec(t, f)
	given := 0
	for _, p := range f.Series {
		given += len(p.X)
	}
	expect.That(t, f.Fits() && given <= maxCells && given >= 500, "%d cells; are all drawn: %v", given, f.Fits())
}

func TestParticipants(t *testing.T) {
	f := Participants(sample(), attended("random", 4, []int{0, 1}, []int{1, 2}), seeded(1, attended("random", 4, []int{1, 3})))
	expect.OK(t, f.Err())
	a, b := f.Series[0], f.Series[1]
	expect.Must(t, len(f.Series) == 2 && slices.Equal(f.Y.Names, []string{"random", "SmartFedProx"}), "%d series, rows %q", len(f.Series), f.Y.Names)
	want := []string{"2 of 4 rounds", "1 of 4 rounds", "3 of 4 rounds", "0 of 4 rounds", "1 of 4 rounds", "1 of 4 rounds"}
	expect.That(t, slices.Equal(a.Tip, want), "%q, want %q", a.Tip, want)
	want = []string{"0.5 of 1.5 rounds", "1.5 of 1.5 rounds", "0.5 of 1.5 rounds", "0.5 of 1.5 rounds"}
	expect.That(t, slices.Equal(b.Tip, want), "the mean of two runs: %q, want %q", b.Tip, want)
	height := func(s chart.Series, c int) float64 { return s.Y2[c] - s.Y[c] - 0.012 }
	expect.That(t, near([]float64{height(a, 2), height(a, 0), height(a, 3), height(b, 1)}, []float64{0.88, 0.88 * 2 / 3, 0, 0.44}),
		"bars of %v and %v", a.Y2, b.Y2)
	charttest.Golden(t, "participants", f)
	if f := Participants(attended("many", 130, []int{0, 129})); f.Err() != nil || !strings.Contains(f.Note, "the first 100 of 130 clients") {
		t.Error(f, f.Err())
	}
}

func FuzzHeat(f *testing.F) {
	f.Add(3, 2, 1, 0.5, uint8(1))
	f.Add(-1, 1<<40, 1<<40, 1e308, uint8(2))
	f.Fuzz(func(t *testing.T, client, round, clients int, v float64, of uint8) {
		x := fedkit.Float(v)
		h := &fedkit.History{Clients: min(clients, 1000), Rounds: []fedkit.Record{
			{Round: round, Results: []fedkit.ClientResult{{Client: client, Drift: x, Mu: x, Loss: 1}, {Client: 1, Mu: 1, Loss: x}}},
			{Round: round + 1, Results: []fedkit.ClientResult{{Client: 1, Steps: client}}},
		}}
		for _, f := range []*chart.Figure{Heat(h, Of(of%8)), Participants(h, h)} {
			fuzzed(t, f)
		}
	})
}
