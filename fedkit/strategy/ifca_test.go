package strategy_test

import (
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
// would be decided by rounding: this seed has none.
func TestIFCAAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 6, 6, 3
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, gradients := range []bool{false, true} {
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
		ones := []float64{1, 1, 1, 1}
		s := &strategy.IFCA{K: k, Fraction: 0.5, Local: l, Gradients: gradients, Gamma: 0.3}
		var theta [][]float64
		last, moved := slices.Repeat([]int{-1}, fed.Size()), false
		for h, err := range fedkit.Rounds(t.Context(), fed, s, fedkit.Options{Rounds: rounds, Seed: seed, EvalEvery: rounds}) {
			expect.OK(t, err)
			if theta == nil {
				theta = starts(fed, seed, k)
			}
			r := h.Last()
			sum, count := make([][]float64, k), make([]float64, k)
			for j := range sum {
				sum[j] = make([]float64, 4)
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
				if gradients {
					_, g := o.net.Gradient(theta[j], x, y)
					floats.AddScaled(sum[j], -0.3/float64(len(r.Results)), g)
					continue
				}
				w, _ := o.train(r.Round, 1, i, l.Epochs, theta[j], ones, make([]float64, 4))
				floats.Add(sum[j], w)
			}
			for j := range theta {
				switch {
				case gradients:
					floats.Add(theta[j], sum[j])
				case count[j] > 0:
					theta[j] = floats.ScaleTo(sum[j], 1/count[j], sum[j])
				}
			}
			sameRows(t, s.State.Theta, theta, "gradients %v, round %d: θ", gradients, r.Round)
			if !slices.Equal(s.State.Choice, last) || r.Round < rounds && !slices.Equal(r.Clusters, last) {
				t.Errorf("gradients %v, round %d: choices %v, recorded %v, want %v", gradients, r.Round, s.State.Choice, r.Clusters, last)
			}
		}
		if !moved {
			t.Errorf("gradients %v: no client changed its mind: the test needs another seed", gradients)
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
