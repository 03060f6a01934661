package fedkit_test

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// hundred is local work on 100 examples.
var hundred = fedkit.Local{Steps: 10, Batch: 10, LR: 0.1}

// fourSpeeds is a federation of four clients that receive a model in 1 s, train for 1, 2, 3 and 4 s, and send it in 2 s.
func fourSpeeds(t *testing.T, change func(i int, d *sim.Device)) *fedkit.Federation {
	t.Helper()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4, Seed: 1}, model.MLP()))(t)
	model, devices := float64(4*fed.Task.Dim()), make(sim.Given, 4)
	for i := range devices {
		devices[i] = sim.Device{PerExample: 0.01 * float64(i+1), Down: model, Up: model / 2}
		if change != nil {
			change(i, &devices[i])
		}
	}
	return expect.Value(fed.WithDevices(devices))(t)
}

func timed(t *testing.T, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	return expect.Value(fedkit.Run(context.Background(), fed, s, o))(t)
}

func TestClock(t *testing.T) {
	off := func(i int, d *sim.Device) { // client 0 is on in every other half minute
		if i == 0 {
			d.On = sim.Hours{Intervals: []sim.Interval{{From: 30, To: 60}}}
		}
	}
	late := func(i int, d *sim.Device) { d.Latency = 100 }
	for _, c := range []struct {
		name    string
		change  func(i int, d *sim.Device)
		s       fedkit.Strategy
		pace    fedkit.Pace
		clock   []float64
		arrived map[int]float64 // in round 1
		missed  []int           // likewise
		steps   []int           // likewise
	}{
		{"everyone", nil, &strategy.FedAvg{Local: hundred}, fedkit.Pace{}, []float64{7, 14}, map[int]float64{0: 4, 1: 5, 2: 6, 3: 7}, nil, []int{10, 10, 10, 10}},
		{"a deadline", nil, &strategy.FedAvg{Local: hundred}, fedkit.Pace{Deadline: 5.5}, []float64{5.5, 11}, map[int]float64{0: 4, 1: 5}, []int{2, 3}, []int{10, 10}},
		{"partial work", nil, &strategy.FedAvg{Local: hundred}, fedkit.Pace{Deadline: 5.5, PartialWork: true}, []float64{5.4, 10.8}, map[int]float64{0: 4, 1: 5, 2: 5.4, 3: 5.4}, nil, []int{10, 10, 8, 6}},
		{"two more than needed", nil, &strategy.FedAvg{Fraction: 0.5, Local: hundred}, fedkit.Pace{OverSelection: 1}, []float64{5, 10}, map[int]float64{0: 4, 1: 5}, []int{2, 3}, []int{10, 10}},
		{"private work", nil, &strategy.LocalOnly{Local: hundred}, fedkit.Pace{Deadline: 2}, []float64{4, 8}, map[int]float64{0: 1, 1: 2, 2: 3, 3: 4}, nil, []int{10, 10, 10, 10}},
		{"one is off", off, &strategy.FedAvg{Local: hundred}, fedkit.Pace{}, []float64{7, 14}, map[int]float64{1: 5, 2: 6, 3: 7}, nil, []int{10, 10, 10}},
		{"nobody", late, &strategy.FedAvg{Local: hundred}, fedkit.Pace{Deadline: 3}, []float64{3, 6}, nil, []int{0, 1, 2, 3}, nil},
		{"clients choose a model first", nil, &strategy.IFCA{K: 2, Local: hundred}, fedkit.Pace{}, nil, nil, nil, []int{10, 10, 10, 10}},
	} {
		h := timed(t, fourSpeeds(t, c.change), c.s, fedkit.Options{Rounds: 2, Pace: c.pace})
		r := h.Rounds[0]
		for i, want := range c.clock {
			if got := float64(h.Rounds[i].Clock); !near([]float64{got}, []float64{want}) {
				t.Errorf("%s: round %d ended at %v s, want %v", c.name, i+1, got, want)
			}
		}
		var steps, missed []int
		for _, s := range r.Results {
			steps = append(steps, s.Steps)
			if want, ok := c.arrived[s.Client]; c.arrived != nil && (!ok || !near([]float64{float64(s.Arrived)}, []float64{want})) {
				t.Errorf("%s: client %d arrived at %v s, want %v", c.name, s.Client, s.Arrived, want)
			}
		}
		if last, words := h.Rounds[1].Clock, strings.Fields(h.String()); !near([]float64{expect.Value(strconv.ParseFloat(words[len(words)-2], 64))(t)}, []float64{float64(last)}) || words[len(words)-1] != "s" {
			t.Errorf("%s: the table does not end with the clock at %v s:\n%v", c.name, last, h)
		}
		for _, m := range r.Absences {
			missed = append(missed, m.Client)
		}
		expect.That(t, reflect.DeepEqual(steps, c.steps) && reflect.DeepEqual(missed, c.missed),
			"%s: steps %v, want %v; without clients %v, want %v", c.name, steps, c.steps, missed, c.missed)
	}
}

// Local steps take the time of the examples in their batches, of which the last of a pass is smaller: 17 examples in batches of 16 are
// 16, 1, 16, 1, … at 1 s each, however the steps are counted.
func TestClockCountsTheExamplesOfSteps(t *testing.T) {
	seventeen := make([]int, 17)
	for i := range seventeen {
		seventeen[i] = i
	}
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Given{{Train: seventeen, Test: []int{0}}}, model.MLP(2)))(t)
	fed = expect.Value(fed.WithDevices(sim.Given{{PerExample: 1}}))(t)
	for _, c := range []struct {
		name string
		s    fedkit.Strategy
		pace fedkit.Pace
		want float64
	}{
		{"an epoch", &strategy.FedAvg{Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}}, fedkit.Pace{}, 17},
		{"its two steps", &strategy.FedAvg{Local: fedkit.Local{Steps: 2, Batch: 16, LR: 0.1}}, fedkit.Pace{}, 17},
		{"one step", &strategy.FedAvg{Local: fedkit.Local{Steps: 1, Batch: 16, LR: 0.1}}, fedkit.Pace{}, 16},
		{"three steps", &strategy.FedAvg{Local: fedkit.Local{Steps: 3, Batch: 16, LR: 0.1}}, fedkit.Pace{}, 16 + 1 + 16},
		{"two full batches", &strategy.FedAvg{Local: fedkit.Local{Steps: 2, Batch: fedkit.FullBatch, LR: 0.1}}, fedkit.Pace{}, 2 * 17},
		{"a larger batch", &strategy.FedAvg{Local: fedkit.Local{Steps: 2, Batch: 40, LR: 0.1}}, fedkit.Pace{}, 2 * 17},
		{"asynchronous", &strategy.FedAsync{Local: fedkit.Local{Steps: 3, Batch: 16, LR: 0.1}}, fedkit.Pace{}, 16 + 1 + 16},
		{"drawn steps", &strategy.CCFL{StepsMin: 3, StepsMax: 3, Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Pace{}, 16 + 1 + 16},
		{"partial work", &strategy.FedAvg{Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}, fedkit.Pace{Deadline: 33.5, PartialWork: true}, 16 + 1 + 16},
		{"partial steps", &strategy.FedAvg{Local: fedkit.Local{Steps: 4, Batch: 16, LR: 0.1}}, fedkit.Pace{Deadline: 16.5, PartialWork: true}, 16},
	} {
		if got := timed(t, fed, c.s, fedkit.Options{Rounds: 1, Pace: c.pace}).Last().Clock; float64(got) != c.want {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}

// A round without any client leaves the model as it was.
func TestRoundWithoutClients(t *testing.T) {
	s := &strategy.SCAFFOLD{Local: hundred}
	h := timed(t, fourSpeeds(t, func(i int, d *sim.Device) { d.Latency = 100 }), s, fedkit.Options{Rounds: 2, Pace: fedkit.Pace{Deadline: 1}})
	if a, b := h.Rounds[0].Global, h.Rounds[1].Global; !reflect.DeepEqual(a, b) || len(h.Rounds[1].Absences) != 4 {
		t.Errorf("scores %v and %v, missed %v", a, b, h.Rounds[1].Absences)
	}
}

// What the server did not wait for does not keep a client busy, not even after a resume.
func TestLateClientsAfterResume(t *testing.T) {
	fed, file := fourSpeeds(t, nil), filepath.Join(t.TempDir(), "run")
	for _, rounds := range []int{1, 2} {
		o := fedkit.Options{Rounds: rounds, Pace: fedkit.Pace{Deadline: 5.5}, Checkpoint: file}
		for _, m := range timed(t, fed, &strategy.FedAvg{Local: hundred}, o).Last().Absences {
			if want := 5.5 * float64(rounds-1); float64(m.Begin) != want {
				t.Errorf("client %d begins round %d at %v s, want %v", m.Client, rounds, m.Begin, want)
			}
		}
	}
}

func TestDevicesThatAreRefused(t *testing.T) {
	fed := relabeled(t)
	for _, pace := range []fedkit.Pace{{Deadline: -1}, {OverSelection: -0.1}, {OverSelection: math.Inf(1)}, {Deadline: math.NaN()}, {Deadline: 3}} { // the last: without devices
		expect.Invalid(t, "Options.Pace")(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: hundred}, fedkit.Options{Rounds: 1, Pace: pace}))
	}
	for _, rule := range []sim.Rule{nil, (*sim.Given)(nil), sim.Given{{}}, sim.Devices{Up: sim.Constant(-1)}, sim.Devices{Drop: sim.Constant(1)}} {
		expect.Invalid(t)(fed.WithDevices(rule))
	}
}
