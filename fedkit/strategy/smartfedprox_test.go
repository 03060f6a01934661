package strategy_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
)

func init() {
	l := standard
	more["SmartFedProx"] = func() fedkit.Strategy { return strategy.SmartFedProx() }
	more["FedMedian, clients chosen"] = func() fedkit.Strategy {
		return &strategy.FedMedian{Fraction: 0.5, Local: l, Selector: selection.Fair{Wait: 3, Quota: 0.8,
			Then: selection.Explore{Then: selection.Annealed{Rounds: 4, Then: selection.Diversity{By: selection.Dissimilarity}}}}}
	}
	random, cold := strategy.SmartFedProx(), strategy.SmartFedProx()
	random.Selector, cold.Selector = nil, selection.Explore{ColdStart: 6}
	fixed := strategy.SmartFedProx()
	fixed.Selector, fixed.Adaptive, fixed.Mu = nil, false, fedkit.Zero
	moreIdentities = append(moreIdentities,
		identity{"SmartFedProx during its cold start = FedProx with random clients", uneven, cold, random},
		identity{"SmartFedProx without what is smart = FedAvg", uneven, fixed, &strategy.FedAvg{Fraction: 0.5, Aggregator: aggregate.Mean{}}},
	)
	wrong := strategy.SmartFedProx()
	wrong.Selector = selection.Explore{Then: selection.Hybrid{HighRatio: 2}}
	moreRefused["FedProx: invalid: Hybrid.HighRatio = 2: must be in (0, 1], 0 for the default of 0.5, or fedkit.Zero"] = wrong
	moreRefused["FedAvg: invalid: Bandwidth.Seconds = 3 times: must be 2, one a client"] =
		&strategy.FedAvg{Selector: selection.Bandwidth{Seconds: make([]float64, 3)}}
}

// Half of the clients a round, and every μ_i is what the client's drifts in the history say.
func TestSmartFedProxAdaptsMu(t *testing.T) {
	h := run(t, quadratic(t, uneven...), strategy.SmartFedProx(), fedkit.Options{Rounds: 40, Seed: 3})
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

// pastDrifts lists how far a client drifted before a round.
func pastDrifts(h *fedkit.History, client, round int) (drifts []float64) {
	for _, r := range h.Rounds[:round-1] {
		if i := slices.Index(r.Clients(), client); i >= 0 {
			drifts = append(drifts, float64(r.Solves[i].Drift))
		}
	}
	return drifts
}
