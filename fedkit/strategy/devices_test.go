package strategy_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// speeds are devices that receive a model of Quadratic, 20 bytes, in 1 s, take the given s per example, and send the model in 2 s.
func speeds(perExample ...float64) (devices sim.Given) {
	for _, s := range perExample {
		devices = append(devices, sim.Device{PerExample: s, Down: 20, Up: 10})
	}
	return devices
}

// with sets a federation's devices.
func with(t *testing.T, fed *fedkit.Federation, devices sim.Rule) *fedkit.Federation {
	t.Helper()
	return expect.Value(fed.WithDevices(devices))(t)
}

// Cases computed by hand, for clients of ten examples: σ = 1, 2 and 4 s unless said otherwise.
func TestFedEffEpochs(t *testing.T) {
	local := fedkit.Local{Epochs: 3, Batch: 10, LR: 0.05}
	far := speeds(0.1, 0.2, 0.4)
	far[2].Up = 1 // 20 s
	for _, c := range []struct {
		name    string
		s       strategy.FedEff
		devices sim.Given
		ert     float64
		epochs  [3]int // 0: excluded
	}{
		{"E = 3", strategy.FedEff{}, speeds(0.1, 0.2, 0.4), 10, [3]int{7, 3, 1}},                                          // 7 + 3, leaves 7
		{"E = 1.5", strategy.FedEff{Tau: 0.5}, speeds(0.1, 0.2, 0.4), 7, [3]int{4, 2, 1}},                                 // 6.5 up to 7, leaves 4
		{"half seconds", strategy.FedEff{Tau: 0.5, Unit: 0.5}, speeds(0.1, 0.2, 0.4), 6.5, [3]int{3, 1, 0}},               // leaves 3.5
		{"E = 1", strategy.FedEff{Tau: 1. / 3}, speeds(0.1, 0.2, 0.4), 6, [3]int{3, 1, 0}},                                // 5.33 up to 6, leaves 3
		{"not rounded", strategy.FedEff{Tau: 1. / 3, Unit: fedkit.Zero}, speeds(0.1, 0.2, 0.4), 16. / 3, [3]int{2, 1, 0}}, // leaves 2.33
		{"minutes", strategy.FedEff{Unit: 60}, speeds(0.1, 0.2, 0.4), 60, [3]int{57, 28, 14}},                             // leaves 57
		{"a slow line", strategy.FedEff{}, far, 16, [3]int{13, 6, 0}},                                                     // 7 + 1 + 8; 13 left, and −5
		{"alike", strategy.FedEff{Unit: fedkit.Zero}, speeds(0.07, 0.07, 0.07), 5.1, [3]int{3, 3, 3}},                     // 2.1 left, for 3 × 0.7
		{"alike, in decimals", strategy.FedEff{Unit: 0.1, Tau: 1. / 3}, speeds(0.11, 0.11, 0.11), 4.1, [3]int{1, 1, 1}},   // 1.1 left
		{"alike and fast", strategy.FedEff{}, speeds(0.01, 0.01, 0.01), 4, [3]int{10, 10, 10}},                            // 3.3 up to 4
		{"one is much faster", strategy.FedEff{Unit: fedkit.Zero}, speeds(0.001, 0.1, 0.499), 9, [3]int{600, 6, 1}},       // 6 left
		{"nobody has time", strategy.FedEff{Tau: 0.1, Unit: fedkit.Zero}, speeds(0.1, 0.1, 0.1), 3.3, [3]int{}},           // 0.3 left
		{"equal", strategy.FedEff{Equal: true}, speeds(0.1, 0.2, 0.4), 10, [3]int{3, 3, 3}},
		{"as a schedule says", strategy.FedEff{Schedule: fedkit.ScheduleFunc(half)}, speeds(0.1, 0.2, 0.4), 7, [3]int{4, 2, 1}}, // τ = 0.5
	} {
		c.s.Local = local
		r := run(t, with(t, quadratic(t, 10, 10, 10), c.devices), &c.s, fedkit.Options{Rounds: 1}).Last()
		var epochs [3]int
		for _, s := range r.Results {
			epochs[s.Client] = s.Steps
		}
		for _, m := range r.Absences {
			expect.That(t, m.Excluded && m.Begin == 0 && m.End == 0 && epochs[m.Client] == 0, "%s: %+v, epochs %v", c.name, m, epochs)
		}
		ert := float64(r.Notes["estimated seconds"])
		expect.That(t, epochs == c.epochs && len(r.Results)+len(r.Absences) == 3 && math.Abs(ert-c.ert) <= 1e-9,
			"%s: epochs %v, want %v; %v sat out; %v s, want %v", c.name, epochs, c.epochs, r.Absences, ert, c.ert)
		expect.That(t, float64(r.Clock) <= ert+1e-9 || c.s.Equal, "%s: the round took %v s, estimated were %v", c.name, r.Clock, ert)
	}
}

func half(int) float64 { return 0.5 }

// sameRuns compares two runs of FedAvg's kind, bit for bit.
func sameRuns(t *testing.T, fed *fedkit.Federation, a, b fedkit.Strategy) *fedkit.History {
	t.Helper()
	o := fedkit.Options{Rounds: 4, Seed: 3}
	want, got := run(t, fed, a, o), run(t, fed, b, o)
	for i, x := range want.Rounds {
		y := got.Rounds[i]
		expect.That(t, x.Clock == y.Clock && x.BytesDown == y.BytesDown && x.BytesUp == y.BytesUp && reflect.DeepEqual(x.Results, y.Results) &&
			fmt.Sprint(x.Scores) == fmt.Sprint(y.Scores), "%v, round %d:\n%+v\n%+v", fed, i+1, x, y)
	}
	return got
}

// With τ = 1 it is FedAvg bit for bit, on equal clients or with Equal.
func TestFedEffOfEqualClients(t *testing.T) {
	for _, c := range []struct {
		sizes   []int
		devices sim.Rule
		s       *strategy.FedEff
	}{
		{even, sim.Devices{PerExample: sim.Constant(0.1), Down: sim.Constant(7), Up: sim.Constant(3)}, &strategy.FedEff{Local: standard}},
		{even, sim.Devices{PerExample: sim.Constant(0.0007), Latency: sim.Constant(0.3)}, &strategy.FedEff{Fraction: 0.5, Unit: fedkit.Zero, Local: standard}},
		{uneven, slowAndFast, &strategy.FedEff{Fraction: 0.5, Equal: true, Local: standard}},
	} {
		fed, avg := with(t, quadratic(t, c.sizes...), c.devices), &strategy.FedAvg{Fraction: c.s.Fraction, Local: standard}
		sameRuns(t, fed, avg, c.s)
		if x, y := host(t, avg.X), host(t, c.s.X); !reflect.DeepEqual(x, y) {
			t.Errorf("%v: x = %v and %v", fed, x, y)
		}
	}
}

// Rounds without any client do not change the model, and take no time.
func TestFedEffWithoutAnybody(t *testing.T) {
	fed := with(t, quadratic(t, 10, 10, 10), speeds(0.1, 0.1, 0.1))
	h := run(t, fed, &strategy.FedEff{Tau: 0.5, Unit: fedkit.Zero, Local: fedkit.Local{Batch: 10, LR: 0.1}}, fedkit.Options{Rounds: 3})
	for _, r := range h.Rounds {
		expect.That(t, len(r.Absences) == 3 && len(r.Results) == 0 && r.Clock == 0 && fmt.Sprint(r.Scores) == fmt.Sprint(h.Rounds[0].Scores),
			"%+v", r)
	}
}

// Over-selected clients replace excluded ones.
func TestFedEffWithMoreThanWanted(t *testing.T) {
	fed := with(t, quadratic(t, 10, 10, 10, 10), speeds(0.1, 0.1, 0.2, 0.4))
	s := &strategy.FedEff{Fraction: 0.5, Unit: fedkit.Zero, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	r := run(t, fed, s, fedkit.Options{Rounds: 1, Pace: fedkit.Pace{OverSelection: 1}}).Last() // 2 s to compute in
	got := r.Clients()
	expect.That(t, reflect.DeepEqual(got, []int{0, 1}) && len(r.Absences) == 2 && r.Absences[0].Excluded && !r.Absences[1].Excluded,
		"clients %v, without %+v", got, r.Absences)
}

func TestFedEffRefuses(t *testing.T) {
	instant, endless := speeds(0.1, 0), speeds(1e-12, 1)
	for _, c := range []struct {
		devices sim.Rule
		s       *strategy.FedEff
		words   string
	}{
		{nil, &strategy.FedEff{}, "FedEff: invalid: Federation.Devices = nil: must be set by Federation.WithDevices, unless Equal is set"},
		{instant, &strategy.FedEff{}, "FedEff: invalid: Federation.Devices[1].PerExample = 0: must be > 0"},
		{endless, &strategy.FedEff{}, "round 1: train: invalid: Job.Epochs = 500000000000: must be at most"},
		{instant, &strategy.FedEff{Equal: true, Local: fedkit.Local{Steps: 3, Batch: 8, LR: 0.1}}, "FedEff: invalid: Local.Steps = 3: must be 0"},
		{instant, &strategy.FedEff{Equal: true, Schedule: fedkit.ScheduleFunc(twice)}, "round 1: invalid: Schedule = τ = 2 in round 1: must be such that τ is in (0, 1]"},
	} {
		fed := quadratic(t, 10, 10)
		if c.devices != nil {
			fed = with(t, fed, c.devices)
		}
		expect.Invalid(t, c.words)(fedkit.Run(context.Background(), fed, c.s, fedkit.Options{Rounds: 1}))
	}
}

func twice(int) float64 { return 2 }

// brief is FedAvg whose first round has one epoch.
type brief struct{ strategy.FedAvg }

func (s *brief) Round(r *fedkit.Round) error {
	short := s.FedAvg
	if r.T == 1 {
		short.Local.Epochs = 1
	}
	defer func() { s.State = short.State }()
	return short.Round(r)
}

// The initialization round costs what any round does: all clients train for one epoch, whatever the fraction. Afterwards it is
// FedAvg, bit for bit, with Equal and on equal clients.
func TestFedEffInitializes(t *testing.T) {
	alike := sim.Devices{PerExample: sim.Constant(0.1), Down: sim.Constant(7), Up: sim.Constant(3)}
	for _, c := range []struct {
		sizes   []int
		devices sim.Rule
		s       *strategy.FedEff
	}{
		{even, alike, &strategy.FedEff{Initialize: true, Local: standard}},
		{uneven, slowAndFast, &strategy.FedEff{Initialize: true, Equal: true, Local: standard}},
		{uneven, nil, &strategy.FedEff{Initialize: true, Equal: true, Local: standard}},
	} {
		fed := quadratic(t, c.sizes...)
		if c.devices != nil {
			fed = with(t, fed, c.devices)
		}
		h := sameRuns(t, fed, &brief{strategy.FedAvg{Local: standard}}, c.s)
		travel(t, &h.Rounds[0], 4*5*fed.Size(), 4*5*fed.Size())
	}
	some := &strategy.FedEff{Initialize: true, Fraction: 0.5, Schedule: fedkit.ScheduleFunc(half), Local: standard}
	h := run(t, with(t, quadratic(t, even...), alike), some, fedkit.Options{Rounds: 2})
	if a, b := h.Rounds[0], h.Rounds[1]; len(a.Results) != 6 || len(b.Results) != 3 || a.Results[0].Steps != 2 || a.Notes != nil {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// E_i come from the times of the initialization. A device that is off in the middle of its epoch looks slow; one that drops out is
// taken as its device says.
func TestFedEffMeasures(t *testing.T) {
	local := fedkit.Local{Epochs: 3, Batch: 10, LR: 0.05}
	devices := speeds(0.1, 0.2, 0.4)
	asleep, lost := speeds(0.1, 0.2, 0.4), speeds(0.1, 0.2, 0.4)
	asleep[0].On = sim.Hours{Intervals: []sim.Interval{{From: 0, To: 1.5}, {From: 4.5, To: 1e6}}, Period: 2e6}
	lost[0].Drop = 0.999
	for name, c := range map[string]struct {
		devices sim.Given
		ert     float64
		epochs  [3]int
		first   float64 // s, until all are back
	}{
		"always on":   {devices, 10, [3]int{7, 3, 1}, 7},
		"off for 3 s": {asleep, 13, [3]int{2, 5, 2}, 7}, // σ = 4, 2 and 4: 10 + 3, leaves 10
		"drops out":   {lost, 10, [3]int{0, 3, 1}, 7},
	} {
		s := &strategy.FedEff{Initialize: true, Local: local}
		h := run(t, with(t, quadratic(t, 10, 10, 10), c.devices), s, fedkit.Options{Rounds: 2})
		var epochs [3]int
		for _, s := range h.Last().Results {
			epochs[s.Client] = s.Steps
		}
		ert := float64(h.Last().Notes["estimated seconds"])
		expect.That(t, epochs == c.epochs && math.Abs(ert-c.ert) <= 1e-9 && math.Abs(float64(h.Rounds[0].Clock)-c.first) <= 1e-9,
			"%s: epochs %v, want %v; %v s, want %v; the first round takes %v s, want %v", name, epochs, c.epochs, ert, c.ert, h.Rounds[0].Clock, c.first)
	}
}

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
		expect.That(t, agree(got, xs[rounds]) && oldest >= 3,
			"%s: x is %v, want %v; the oldest result was of %d rounds before", name, got, xs[rounds], oldest)
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
