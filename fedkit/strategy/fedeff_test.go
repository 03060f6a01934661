package strategy_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
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
			if !m.Excluded || m.Begin != 0 || m.End != 0 || epochs[m.Client] != 0 {
				t.Errorf("%s: %+v, epochs %v", c.name, m, epochs)
			}
		}
		ert := float64(r.Notes["estimated seconds"])
		if epochs != c.epochs || len(r.Results)+len(r.Absences) != 3 || math.Abs(ert-c.ert) > 1e-9 {
			t.Errorf("%s: epochs %v, want %v; %v sat out; %v s, want %v", c.name, epochs, c.epochs, r.Absences, ert, c.ert)
		}
		if float64(r.Clock) > ert+1e-9 && !c.s.Equal {
			t.Errorf("%s: the round took %v s, estimated were %v", c.name, r.Clock, ert)
		}
	}
}

func half(int) float64 { return 0.5 }

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
		fed, o := with(t, quadratic(t, c.sizes...), c.devices), fedkit.Options{Rounds: 4, Seed: 3}
		avg := &strategy.FedAvg{Fraction: c.s.Fraction, Local: standard}
		a, b := run(t, fed, avg, o), run(t, fed, c.s, o)
		for i := range a.Rounds {
			if x, y := a.Rounds[i], b.Rounds[i]; x.Clock != y.Clock || !reflect.DeepEqual(x.Results, y.Results) || fmt.Sprint(x.Scores) != fmt.Sprint(y.Scores) {
				t.Errorf("%v, round %d:\n%+v\n%+v", fed, i+1, x, y)
			}
		}
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
		if len(r.Absences) != 3 || len(r.Results) != 0 || r.Clock != 0 || fmt.Sprint(r.Scores) != fmt.Sprint(h.Rounds[0].Scores) {
			t.Errorf("%+v", r)
		}
	}
}

// Over-selected clients replace excluded ones.
func TestFedEffWithMoreThanWanted(t *testing.T) {
	fed := with(t, quadratic(t, 10, 10, 10, 10), speeds(0.1, 0.1, 0.2, 0.4))
	s := &strategy.FedEff{Fraction: 0.5, Unit: fedkit.Zero, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	r := run(t, fed, s, fedkit.Options{Rounds: 1, Pace: fedkit.Pace{OverSelection: 1}}).Last() // 2 s to compute in
	if got := r.Clients(); !reflect.DeepEqual(got, []int{0, 1}) || len(r.Absences) != 2 || !r.Absences[0].Excluded || r.Absences[1].Excluded {
		t.Errorf("clients %v, without %+v", got, r.Absences)
	}
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
		{instant, &strategy.FedEff{Tau: 1.5}, "FedEff: invalid: Tau = 1.5: must be in (0, 1], or 0 for the default of 1"},
		{instant, &strategy.FedEff{Unit: -1}, "FedEff: invalid: Unit = -1: must be a number > 0, 0 for the default of 1, or fedkit.Zero"},
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
		fed, o := quadratic(t, c.sizes...), fedkit.Options{Rounds: 4, Seed: 3}
		if c.devices != nil {
			fed = with(t, fed, c.devices)
		}
		a, b := run(t, fed, &brief{strategy.FedAvg{Local: standard}}, o), run(t, fed, c.s, o)
		for i := range a.Rounds {
			if x, y := a.Rounds[i], b.Rounds[i]; x.Clock != y.Clock || x.BytesDown != y.BytesDown || x.BytesUp != y.BytesUp || !reflect.DeepEqual(x.Results, y.Results) || fmt.Sprint(x.Scores) != fmt.Sprint(y.Scores) {
				t.Errorf("%v, round %d:\n%+v\n%+v", fed, i+1, x, y)
			}
		}
		travel(t, &b.Rounds[0], 4*5*fed.Size(), 4*5*fed.Size())
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
		if ert := float64(h.Last().Notes["estimated seconds"]); epochs != c.epochs || math.Abs(ert-c.ert) > 1e-9 || math.Abs(float64(h.Rounds[0].Clock)-c.first) > 1e-9 {
			t.Errorf("%s: epochs %v, want %v; %v s, want %v; the first round takes %v s, want %v", name, epochs, c.epochs, ert, c.ert, h.Rounds[0].Clock, c.first)
		}
	}
}
