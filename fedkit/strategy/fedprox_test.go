package strategy_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// By hand: hist is 4, then 0.3·2 + 0.7·4 = 3.4 after the drift of 2.
func TestAdaptiveMu(t *testing.T) {
	for _, c := range []struct {
		mu, low, high float64
		epochs        int
		drift         []float64
		want          float64
	}{
		{0.1, 0.001, 1, 1, nil, 0.1},
		{0.1, 0.001, 1, 0, nil, 0.1},
		{0.1, 0.001, 1, 6, nil, 0.15},
		{0.1, 0.001, 1, 1, []float64{4}, 0.1},
		{0.1, 0.001, 1, 1, []float64{4, 2}, 0.05},
		{0.1, 0.001, 1, 11, []float64{4, 2}, 0.1},
		{0.1, 0.001, 1, 1, []float64{4, 2, 5}, 0.1 * 5 / 3.4},
		{0.1, 0.001, 1, 1, []float64{4, 100}, 1},
		{0.1, 0.001, 1, 1, []float64{4, 0}, 0.001},
		{0.1, 0.001, 1, 1, []float64{0, 0}, 0.001},
		{3, 0.001, 1, 1, nil, 1},
	} {
		if got := strategy.AdaptiveMu(c.mu, c.low, c.high, c.epochs, c.drift); math.Abs(got-c.want) > 1e-8 {
			t.Errorf("μ after drifts %v with E = %d: %v, want %v", c.drift, c.epochs, got, c.want)
		}
	}
}

// The recorded μ_i follow the formula from the drifts recorded before, even after a resume.
func TestFedProxAdaptsToTheRecord(t *testing.T) {
	fed := quadratic(t, uneven...)
	o := fedkit.Options{Rounds: 9, Seed: 4, EvalEvery: 3, Checkpoint: t.TempDir() + "/checkpoint"}
	s := func() *strategy.FedProx {
		return &strategy.FedProx{Fraction: 0.5, Local: standard, Adaptive: true, Mu: 0.05}
	}
	for h, err := range fedkit.Rounds(context.Background(), fed, s(), o) {
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Rounds) == 5 {
			break
		}
	}
	h := run(t, fed, s(), o)
	drift, values := make([][]float64, fed.Size()), []float64{}
	for _, r := range h.Rounds {
		for i, c := range r.Clients() {
			want := strategy.AdaptiveMu(0.05, 0.001, 1, 2, drift[c])
			if float64(r.Solves[i].Mu) != want {
				t.Errorf("round %d, client %d: μ = %v, want %v", r.Round, c, r.Solves[i].Mu, want)
			}
			drift[c] = append(drift[c], float64(r.Solves[i].Drift))
			values = append(values, want)
		}
	}
	if slices.Min(values) >= 0.05 || slices.Max(values) < 0.055 {
		t.Errorf("μ never moved: %v", values)
	}
}
