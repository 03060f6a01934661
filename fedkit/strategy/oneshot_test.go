package strategy_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/strategy"
)

// In the first round all clients train longer; later a share of the clients does the usual work, and a cluster without any
// of them keeps its model.
func TestOneShotClustersOnce(t *testing.T) {
	fed := quadratic(t, even...)
	s := &strategy.OneShot{K: 3, WorkFactor: 4, Fraction: 1. / 6, Local: standard}
	var centers [][]float64
	for h, err := range fedkit.Rounds(t.Context(), fed, s, fedkit.Options{Rounds: 3}) {
		expect.OK(t, err)
		r := h.Last()
		work := 2 * 16 / 8 // epochs, examples, batch
		if r.Round == 1 {
			work *= 4
			centers = host(t, s.State.Theta)
		}
		for _, solve := range r.Results {
			if solve.Steps != work {
				t.Errorf("round %d: client %d did %d steps, want %d", r.Round, solve.Client, solve.Steps, work)
			}
		}
		if !slices.Equal(r.Clusters, h.Rounds[0].Clusters) || slices.Max(r.Clusters) != 2 {
			t.Errorf("round %d: clusters %v, were %v", r.Round, r.Clusters, h.Rounds[0].Clusters)
		}
		if r.Round == 1 {
			continue
		}
		now := host(t, s.State.Theta)
		for c := range now {
			if trained := c == r.Clusters[r.Clients()[0]]; slices.Equal(now[c], centers[c]) == trained {
				t.Errorf("round %d: one client of cluster %d took part, and the model of cluster %d changed: %v", r.Round, r.Clusters[r.Clients()[0]], c, trained)
			}
		}
		centers = now
	}
}

// A client whose updates are skipped still has a cluster and a model.
func TestClustersOfClientsLeftOut(t *testing.T) {
	fed := quadratic(t, even...).Intercept(poison(2))
	for _, s := range []fedkit.Strategy{
		&strategy.IFCA{K: 2, Local: standard}, &strategy.OneShot{K: 2, Local: standard}, &strategy.LCFL{K: 2, Warmup: 1, Local: standard},
		&strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, Local: standard},
	} {
		last := run(t, fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip}).Last()
		if c := last.Clusters[2]; c < 0 || c > 4 || math.IsNaN(float64(last.Scores[2].Loss)) {
			t.Errorf("%T: client 2, which sends NaN, is in cluster %d of %v, with a loss of %v", s, c, last.Clusters, last.Scores[2].Loss)
		}
		if slices.Max(last.Clusters) < 1 {
			t.Errorf("%T: clusters %v", s, last.Clusters)
		}
	}
}
