package strategy_test

import (
	"math"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// The asynchronous rules in plain Go, on devices that cause staleness of several rounds. The order of arrival is taken from the
// record (TestArrivals checks it by hand); start models, results and weights are recomputed.
func TestAsynchronousAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, concurrency = 30, 3, 4
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	fed := expect.Value(rivals(t, model.MLP(), uneven...).WithDevices(slowAndFast))(t)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	// A result is Δ_i/K_i or Δ_i, weighted by staleness. x steps by the buffer's weighted mean, or mixes in w_i.
	for name, c := range map[string]struct {
		s       fedkit.Strategy
		weight  func(age, steps float64) float64
		mix     bool // x ← x + weight · (w_i − x)
		by      oracle.Server
		average bool
	}{
		"FedAsync": {s: &strategy.FedAsync{Concurrency: concurrency, Alpha: 0.5, Staleness: strategy.Poly{A: 0.7}, Local: l}, mix: true,
			weight: func(age, _ float64) float64 { return 0.5 * math.Pow(1+age, -0.7) }},
		"FedAsync, updates": {s: &strategy.FedAsync{Concurrency: concurrency, Updates: true, Staleness: strategy.Hinge{A: 3, B: 2}, Local: l}, by: oracle.Server{Rule: "SGD", LR: 1},
			weight: func(age, _ float64) float64 { return 0.6 / math.Max(1, 3*(age-2)+1) }},
		"FedBuff": {s: &strategy.FedBuff{Concurrency: concurrency, K: 2, Server: server.Momentum{LR: 1.5, Beta: 0.4}, Local: l}, by: oracle.Server{Rule: "Momentum", LR: 1.5, Beta1: 0.4},
			weight: func(age, _ float64) float64 { return 1 / math.Sqrt(1+age) }, average: true},
		"CCFL": {s: &strategy.CCFL{Concurrency: concurrency, M: 3, Server: server.AMSGrad{LR: 0.05, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-3}, Local: l},
			by:     oracle.Server{Rule: "AMSGrad", LR: 0.05, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-3},
			weight: func(_, steps float64) float64 { return 1 / steps }, average: true},
	} {
		h := run(t, fed, c.s, fedkit.Options{Rounds: rounds, EvalEvery: rounds, Seed: seed})
		xs, oldest := starts(t, fed, seed, 1), 0 // xs[t] is the model after round t
		var deltas [][]float64
		for _, r := range h.Rounds {
			delta := make([]float64, len(xs[0]))
			for _, solve := range r.Results {
				began := r.Round - solve.Staleness
				w, steps := o.train(began, 1, solve.Client, l.Epochs, xs[began-1], nil, nil)
				from := xs[began-1]
				if c.mix {
					from = xs[r.Round-1]
				}
				weight := c.weight(float64(solve.Staleness), float64(steps))
				if c.average {
					weight /= float64(len(r.Results))
				}
				floats.AddScaled(delta, weight, floats.SubTo(make([]float64, len(w)), w, from))
				oldest = max(oldest, solve.Staleness)
			}
			if deltas = append(deltas, delta); c.mix {
				xs = append(xs, floats.AddTo(make([]float64, len(delta)), xs[r.Round-1], delta))
			} else {
				xs = append(xs, c.by.Run(xs[0], deltas)[r.Round-1])
			}
		}
		got := host(t, global(c.s))[0]
		if !agree(got, xs[rounds]) || oldest < 3 {
			t.Errorf("%s: x is %v, want %v; the oldest result was of %d rounds before", name, got, xs[rounds], oldest)
		}
	}
}

// A buffer of two results, of which one is not finite and left out, steps as one of the other alone: the mean of the rest.
func TestAsynchronousSkips(t *testing.T) {
	fed := quadratic(t, even[:2]...)
	for _, c := range []struct{ two, one fedkit.Strategy }{
		{&strategy.FedBuff{Concurrency: 2, K: 2, Local: standard}, &strategy.FedBuff{Concurrency: 2, K: 1, Local: standard}},
		{&strategy.CCFL{Concurrency: 2, M: 2, Server: server.SGD{}, Local: standard}, &strategy.CCFL{Concurrency: 2, M: 1, Server: server.SGD{}, Local: standard}},
	} {
		run(t, fed.Intercept(poison(1)), c.two, fedkit.Options{Rounds: 1, NotFinite: fedkit.Skip})
		run(t, fed, c.one, fedkit.Options{Rounds: 1}) // client 0 is the first
		if got, want := host(t, global(c.two))[0], host(t, global(c.one))[0]; !agree(got, want) {
			t.Errorf("%T: x = %v, want %v", c.two, got, want)
		}
	}
}

// global is x of an asynchronous strategy.
func global(s fedkit.Strategy) *fedkit.Matrix {
	switch s := s.(type) {
	case *strategy.FedAsync:
		return s.State.Global.X
	case *strategy.FedBuff:
		return s.State.Global.X
	case *strategy.CCFL:
		return s.State.Global.X
	}
	return nil
}
