package strategy_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// Half of the clients per round; every μ_i follows from the client's drifts in the history.
func TestSmartFedProxAdaptsMu(t *testing.T) {
	h := run(t, quadratic(t, uneven...), &strategy.SmartFedProx{}, fedkit.Options{Rounds: 40, Seed: 3})
	adapted := 0
	for _, r := range h.Rounds {
		if len(r.Solves) != 3 {
			t.Fatalf("%d of 6 clients in round %d, want 3", len(r.Solves), r.Round)
		}
		for i, c := range r.Clients() {
			want := strategy.AdaptiveMu(0.1, 0.001, 1, 1, pastDrifts(h, c, r.Round))
			if got := float64(r.Solves[i].Mu); math.Abs(got-want) > 1e-9 {
				t.Errorf("round %d, client %d: μ = %v, want %v", r.Round, c, got, want)
			}
			if want != 0.1 {
				adapted++
			}
		}
	}
	if adapted < 50 {
		t.Errorf("μ was adapted %d times of 120", adapted)
	}
}

// pastDrifts lists a client's drifts before a round.
func pastDrifts(h *fedkit.History, client, round int) (drifts []float64) {
	for _, r := range h.Rounds[:round-1] {
		if i := slices.Index(r.Clients(), client); i >= 0 {
			drifts = append(drifts, float64(r.Solves[i].Drift))
		}
	}
	return drifts
}
