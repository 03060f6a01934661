package strategy_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// The whole algorithm in plain Go, with all three ways to combine x, and a warm-up.
func TestAdaptiveClusteringAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, prob = 7, 4, 0.4
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	for _, s := range []*strategy.AdaptiveClustering{{}, {Reuse: true}, {AsPublished: true}, {Reuse: true, Warmup: 1}} {
		s.First, s.SAProb, s.StabilizeRounds, s.Local = true, prob, 2, l
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
		x, p, d, calm, last := starts(t, fed, seed, 1)[0], fed.Size(), 1, 0, math.Inf(1)
		fell := 0
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			if r.Round <= s.Warmup {
				next := make([]float64, 4)
				for i := range fed.Size() {
					floats.AddScaled(next, 1/float64(fed.Size()), o.plain(r.Round, 1, i, x))
				}
				x = next
				sameRows(t, s.State.X, [][]float64{x}, "%+v\nround %d: x", s, r.Round)
				continue
			}
			for name, want := range map[string]int{"p": p, "d": d} {
				expect.Must(t, int(r.Notes[name]) == want, "%+v\nround %d: %s = %d, want %d", s, r.Round, name, int(r.Notes[name]), want)
			}
			w := make([][]float64, fed.Size())
			for i := range w {
				w[i] = o.plain(r.Round, 1, i, x)
			}
			loss := float64(r.Notes["loss"]) // the oracle has the models, and TestAdaptiveClusteringLoss the losses
			ratio := last / loss
			expect.That(t, math.Abs(ratio-float64(r.Notes["ratio"])) <= 1e-12 || math.IsInf(ratio, 1),
				"round %d: ratio %v, want %v", r.Round, r.Notes["ratio"], ratio)
			calm++
			if last/loss > 0.5 && fedkit.Random(seed, "keep", r.Round).Float64() >= prob {
				p, d, calm = max(p-d, 1), min(d+1, fed.Size()-1), 0
				fell++
			}
			if calm == 2 {
				d, calm = 1, 0
			}
			last = loss
			groups := cluster.Members(cluster.Renumber(merged(w, p, math.Inf(1), ward)), p)
			labels, next := make([]int, fed.Size()), make([]float64, 4)
			at := append([]float64(nil), x...)
			for c, g := range groups {
				for _, i := range g {
					labels[i] = c
				}
				again := w[g[0]]
				switch {
				case s.AsPublished:
					again = o.plain(r.Round, 2+c, g[0], at)
				case !s.Reuse:
					again = o.plain(r.Round, 2, g[0], at)
				}
				floats.AddScaled(next, 1/float64(p), again)
				if s.AsPublished {
					floats.AddScaled(at, 1/float64(p), again)
				}
			}
			if x = next; s.AsPublished {
				x = at
			}
			expect.Must(t, slices.Equal(r.Clusters, labels), "%+v\nround %d: clusters %v, want %v", s, r.Round, r.Clusters, labels)
			sameRows(t, s.State.X, [][]float64{x}, "%+v\nround %d: x", s, r.Round)
			if got, want := float64(r.Notes["norm"]), floats.Norm(x, 2); math.Abs(got-want) > 1e-5*want {
				t.Errorf("%+v\nround %d: ‖x‖ = %v, want %v", s, r.Round, got, want)
			}
			model, second := int64(4*4), int64(p)
			if s.Reuse {
				second = 0
			}
			expect.That(t, r.BytesUp == (model*(6+second)), "%+v\nround %d: %d bytes up, want %d", s, r.Round, r.BytesUp, (model * (6 + second)))
		}
		expect.That(t, fell != 0 && fell != rounds && (fell != 1 || s.AsPublished), // x grows with its loss, so that the ratio is low
			"p fell %d times in %d rounds: the replay shows too little", fell, rounds)
	}
}

// L is the mean over all local steps of the first training, in which clients with more examples take more steps.
func TestAdaptiveClusteringLoss(t *testing.T) {
	fed := rivals(t, model.MLP(), uneven...)
	r := run(t, fed, &strategy.AdaptiveClustering{Reuse: true, Local: standard}, fedkit.Options{Rounds: 1}).Last()
	sum, steps := 0.0, 0
	for _, s := range r.Results {
		sum, steps = sum+float64(s.Loss)*float64(s.Steps), steps+s.Steps
	}
	want := sum / float64(steps)
	expect.That(t, math.Abs(float64(r.Notes["loss"])-want) <= 1e-12, "loss %v, want %v", r.Notes["loss"], want)
}
