package strategy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// Algorithm 1 of the paper in plain Go, both options, with unequal clients and half of them per round. Close choices
// would be decided by rounding: these seeds have none.
func TestIFCAAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, k, trial = 6, 3, 2
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, test := range []struct {
		strategy.IFCA
		seed  uint64
		keeps int // the set of models that goes on after the restarts
	}{
		{IFCA: strategy.IFCA{}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, Batch: 5}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, AllClients: true}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, Restarts: 2}, seed: 9},
		{IFCA: strategy.IFCA{Gradients: true, Restarts: 2}, seed: 7, keeps: 1},
	} {
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, test.seed}
		ones := []float64{1, 1, 1, 1}
		s := &test.IFCA
		what := fmt.Sprintf("gradients %v, batch %d, all %v, restarts %d", s.Gradients, s.Batch, s.AllClients, s.Restarts)
		s.K, s.Fraction, s.Local, s.Gamma, s.Trial = k, 0.5, l, 0.3, trial
		var theta, best [][]float64
		least, loss, kept := math.Inf(1), 0.0, 0
		last, moved := slices.Repeat([]int{-1}, fed.Size()), false
		for h, err := range fedkit.Rounds(t.Context(), fed, s, fedkit.Options{Rounds: rounds, Seed: test.seed, EvalEvery: rounds}) {
			expect.OK(t, err)
			r := h.Last()
			if set := (r.Round - 1) / trial; r.Round == 1 {
				theta = starts(fed, test.seed, k)
			} else if (r.Round-1)%trial == 0 && set <= s.Restarts {
				if loss < least {
					best, least, kept = theta, loss, set-1
				}
				if theta = best; set < s.Restarts {
					theta = starts(fed, test.seed, k*(set+1))[k*set:]
				}
				last = slices.Repeat([]int{-1}, fed.Size())
			}
			loss = 0
			sum, count := make([][]float64, k), make([]float64, k)
			for j := range sum {
				sum[j] = make([]float64, 4)
			}
			m := float64(len(r.Results))
			if s.AllClients {
				m = float64(fed.Size())
			}
			for _, i := range r.Clients() {
				x, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
				losses := make([]float64, k)
				for j := range losses {
					losses[j], _ = o.net.Gradient(theta[j], x, y)
				}
				j := floats.MinIdx(losses)
				moved = moved || last[i] >= 0 && last[i] != j
				last[i] = j
				count[j]++
				if !s.Gradients {
					w, _ := o.train(r.Round, 1, i, l.Epochs, theta[j], ones, make([]float64, 4))
					floats.Add(sum[j], w)
					continue
				}
				if s.Batch > 0 {
					order := slices.Clone(fed.Clients[i].Train)
					fedkit.Random(test.seed, "batches", r.Round, i, 0).Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
					x, y = rowsOf(&fed.Data.Train, order[:min(s.Batch, len(order))])
				}
				_, g := o.net.Gradient(theta[j], x, y)
				floats.AddScaled(sum[j], -0.3/m, g)
				loss += losses[j] / float64(len(r.Results))
			}
			for j := range theta {
				switch {
				case s.Gradients:
					theta[j] = floats.AddTo(make([]float64, 4), theta[j], sum[j])
				case count[j] > 0:
					theta[j] = floats.ScaleTo(sum[j], 1/count[j], sum[j])
				}
			}
			sameRows(t, s.State.Theta, theta, "%s, seed %d, round %d: θ", what, test.seed, r.Round)
			if !slices.Equal(s.State.Choice, last) || r.Round < rounds && !slices.Equal(r.Clusters, last) {
				t.Errorf("%s, round %d: choices %v, recorded %v, want %v", what, r.Round, s.State.Choice, r.Clusters, last)
			}
		}
		if !moved && s.Restarts == 0 {
			t.Errorf("%s: no client changed its mind: the test needs another seed", what)
		}
		if kept != test.keeps {
			t.Errorf("%s, seed %d: kept set %d: the test needs another seed", what, test.seed, kept)
		}
	}
}

// starts are a seed's first k models.
func starts(fed *fedkit.Federation, seed uint64, k int) [][]float64 {
	models := make([][]float64, k)
	for j := range models {
		rng := fedkit.Random(seed, "model", j)
		for _, p := range fed.Task.Params {
			w := make([]float32, p.Size())
			if p.Init != nil {
				p.Init(rng, w)
			}
			for _, v := range w {
				models[j] = append(models[j], float64(v))
			}
		}
	}
	return models
}

// A client receives k models to choose from, so the one it trains is not sent again. It sends one.
func TestIFCABytes(t *testing.T) {
	const k = 3
	fed := quadratic(t, 4, 4, 4, 4)
	for _, gradients := range []bool{false, true} {
		h := run(t, fed, &strategy.IFCA{K: k, Fraction: 0.5, Local: standard, Gradients: gradients}, fedkit.Options{Rounds: 1})
		travel(t, h.Last(), 2*k*4*fed.Task.Dim(), 2*4*fed.Task.Dim())
	}
}
