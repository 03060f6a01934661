package strategy_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// After five rounds of FedAvg, one round of all clients' updates shows the two groups, and their number.
func ExampleFLHC() {
	show(&strategy.FLHC{Warmup: 5, Local: short}, &strategy.FLHC{Warmup: 5, K: 2, Cosine: true, Clusterer: cluster.Agglomerative{}, Local: short})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// Algorithm 1 of the paper in plain Go, by distance and by angle, with unequal clients and half of them per round.
func TestFLHCAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, warmup, seed, k = 6, 2, 5, 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	for _, cosine := range []bool{false, true} {
		s := &strategy.FLHC{K: k, Warmup: warmup, Cosine: cosine, Fraction: 0.5, Local: l}
		now := clusters{starts(t, fed, seed, 1), make([]int, fed.Size())}
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			var w [][]float64
			var n []float64
			for _, i := range r.Clients() {
				w, n = append(w, o.plain(r.Round, 1, i, now.own(now.of[i]))), append(n, float64(len(fed.Clients[i].Train)))
			}
			if r.Round != warmup+1 {
				now.average(r.Clients(), w, n)
			} else {
				for i := range w {
					if floats.Sub(w[i], now.models[0]); cosine {
						floats.Scale(1/floats.Norm(w[i], 2), w[i])
					}
				}
				x := now.models[0]
				now = clusters{[][]float64{x, slices.Clone(x), slices.Clone(x)}, cluster.Renumber(merged(w, k, math.Inf(1), complete))}
			}
			expect.Must(t, slices.Equal(r.Clusters, now.of), "cosine %v, round %d: clusters %v, want %v", cosine, r.Round, r.Clusters, now.of)
			sameRows(t, s.State.Models, now.models, "cosine %v, round %d: models", cosine, r.Round)
			travel(t, r, 4*4*len(w), 4*4*len(w))
		}
	}
}

// Before the clustering it is FedAvg. With one cluster it is FedAvg with a round more, in which the model stays: the same if batches,
// which depend on the round, are full.
func TestFLHCIsFedAvg(t *testing.T) {
	expect.OK(t, fedtest.Identical(&strategy.FLHC{Warmup: 99, Fraction: 0.5, Local: standard}, &strategy.FedAvg{Fraction: 0.5, Local: standard}, uneven...))
	fed, full := quadratic(t, uneven...), fedkit.Local{Batch: fedkit.FullBatch, LR: 0.2}
	one, avg := &strategy.FLHC{K: 1, Warmup: 2, Local: full}, &strategy.FedAvg{Local: full}
	run(t, fed, one, fedkit.Options{Rounds: 5})
	run(t, fed, avg, fedkit.Options{Rounds: 4})
	sameRows(t, one.State.Models, host(t, avg.X), "K = 1: x")
}
