package strategy_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/strategy"
)

// By hand: hist is 4, then 0.3·2 + 0.7·4 = 3.4 after the drift of 2.
func TestAdaptiveMu(t *testing.T) {
	for _, c := range []struct {
		mu, low, high float64
		epochs        int
		drift         []float64
		want          float64
		smoothing     float64 // 0 for 0.3
	}{
		{0.1, 0.001, 1, 1, nil, 0.1, 0},
		{0.1, 0.001, 1, 0, nil, 0.1, 0},
		{0.1, 0.001, 1, 6, nil, 0.15, 0},
		{0.1, 0.001, 1, 1, []float64{4}, 0.1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2}, 0.05, 0},
		{0.1, 0.001, 1, 11, []float64{4, 2}, 0.1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2, 5}, 0.1 * 5 / 3.4, 0},
		{0.1, 0.001, 1, 1, []float64{4, 100}, 1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 0}, 0.001, 0},
		{0.1, 0.001, 1, 1, []float64{0, 0}, 0.001, 0},
		{3, 0.001, 1, 1, nil, 1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2, 5}, 0.1 * 5 / 2, 1},
	} {
		if got := strategy.AdaptiveMu(c.mu, c.low, c.high, cmp.Or(c.smoothing, 0.3), c.epochs, c.drift); math.Abs(got-c.want) > 1e-8 {
			t.Errorf("μ after drifts %v with E = %d: %v, want %v", c.drift, c.epochs, got, c.want)
		}
	}
}

// The recorded μ_i follow the formula from the drifts recorded before, even after a resume. Half of the clients take part per round.
func TestMuAdaptsToTheRecord(t *testing.T) {
	fed := quadratic(t, uneven...)
	for _, c := range []struct {
		s      func() fedkit.Strategy
		mu     float64
		epochs int
		most   float64 // which some μ_i reaches
		o      fedkit.Options
	}{
		{func() fedkit.Strategy {
			return &strategy.FedProx{Fraction: 0.5, Local: standard, Adaptive: true, Mu: 0.05}
		}, 0.05, 2, 0.055, fedkit.Options{Rounds: 9, Seed: 4, EvalEvery: 3}},
		{func() fedkit.Strategy { return &strategy.SmartFedProx{} }, 0.1, 1, 0.1, fedkit.Options{Rounds: 40, Seed: 3}},
	} {
		c.o.Checkpoint = t.TempDir() + "/checkpoint"
		for h, err := range fedkit.Rounds(t.Context(), fed, c.s(), c.o) {
			if expect.OK(t, err); len(h.Rounds) == 5 {
				break
			}
		}
		h := run(t, fed, c.s(), c.o)
		drift, values, adapted := make([][]float64, fed.Size()), []float64{}, 0
		for _, r := range h.Rounds {
			for i, client := range r.Clients() {
				want := strategy.AdaptiveMu(c.mu, 0.001, 1, 0.3, c.epochs, drift[client])
				if got := float64(r.Results[i].Mu); got != want {
					t.Errorf("%s, round %d, client %d: μ = %v, want %v", h.Name, r.Round, client, got, want)
				}
				drift[client] = append(drift[client], float64(r.Results[i].Drift))
				if values = append(values, want); want != c.mu {
					adapted++
				}
			}
		}
		if len(values) != 3*c.o.Rounds || 2*adapted < len(values)-12 || slices.Min(values) >= c.mu || slices.Max(values) < c.most {
			t.Errorf("%s: μ was adapted %d times of %d: %v", h.Name, adapted, len(values), values)
		}
	}
}
