package fedkit

import (
	"context"
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
)

// machine lets the machine have this many bytes for the length of a test.
func machine(t *testing.T, bytes float64) {
	real := memory.Available
	memory.Available = func() float64 { return bytes }
	t.Cleanup(func() { memory.Available = real })
}

// The toy model has 39 parameters: 312 bytes for a model and its successor.
func TestWhatDoesNotFitIsRefused(t *testing.T) {
	fed, _ := toy(t, 40, 40, 40)
	machine(t, 3120)
	for _, c := range []struct {
		name  string
		check func() error
		want  string // "" if it fits
	}{
		{"ten models", func() error { return fed.Fits("K", 10, 10) }, ""},
		{"no federation", func() error { return (*Federation)(nil).Fits("K", 1e9, 1e9) }, ""},
		{"eleven models", func() error { return fed.Fits("K", 11, 11) },
			"invalid: K = 11: must be at most 10: 11 models of 39 parameters, before and after a round, take 3.4 kB, and 3.1 kB are free"},
		{"a cohort", func() error { return fed.fitsCohort(21) },
			"invalid: clients per round = 21: must be at most 20: 21 models of 39 parameters take 3.3 kB, and 3.1 kB are free"},
		{"steps", func() error { return fed.fitsLocal(Local{Steps: 100, Batch: 4, LR: 1}, 1) },
			"invalid: Steps = 100: must be at most 97: batches of 4 examples for 100 steps take 3.2 kB, and 3.1 kB are free"},
		{"steps of several clients", func() error { return fed.fitsLocal(Local{Steps: 60, Batch: 4, LR: 1}, 9) }, "must be at most 48"},
		{"epochs", func() error { return fed.fitsLocal(Local{Epochs: 10, Batch: FullBatch, LR: 1}, 1) }, "Epochs = 10: must be at most 9"},
		{"one epoch", func() error { return fed.fitsLocal(Local{}, 1) }, ""},
		{"data", func() error { return fed.fitsRun([]Strategy{&mean{}}, 3) }, ""}, // 123 examples of 24 bytes
		{"a model", func() error {
			return task.Prepare(&Task{Name: "big", Params: []Param{{Shape: []int{20, 20}}}}, nil, nil)
		},
			"invalid: model big = 400 parameters: must be at most 390"},
		{"a huge model", func() error {
			return task.Prepare(&Task{Params: []Param{{Shape: []int{math.MaxInt, math.MaxInt}}}}, nil, nil)
		}, "must be at most 390"},
	} {
		expect.Outcome(t, c.want)(c.check())
	}
	machine(t, 2900)
	expect.Error(t, "examples = 123: must be at most 120")(Run(context.Background(), fed, &mean{}, Options{Rounds: 1}))
	if fed.lazy.Engine != nil {
		t.Error("the data was put on the device")
	}
}

// large is a federation of two clients whose data takes 20 MB, though they hold a few rows of it.
func large(t *testing.T, first int) *Federation {
	t.Helper()
	const rows, features = 20_000, 1000
	part := func(n int) datasets.Split {
		return datasets.Split{Bytes: make([]uint8, n*features), Labels: make([]int32, n), Scale: 1}
	}
	d := &datasets.Dataset{Name: "large", Shape: []int{features}, Classes: 2, Train: part(rows), Test: part(2)}
	d.Test.Labels[0] = 1
	return expect.Value(New(d, partition.Given{{Train: []int{first, 2}, Test: []int{0}}, {Train: []int{3, 4}, Test: []int{1}}}, func(*datasets.Dataset) (*Task, error) {
		return &Task{Name: "large", Params: []Param{{Name: "w", Shape: []int{features, 2}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			c, b := p[0].Shape().Dimensions[0], x.Shape().Dimensions[1]
			return graph.Einsum("cbi,cio->cbo", graph.BroadcastToDims(x, c, b, features), p[0])
		}}, nil
	}))(t)
}

// Federations of one shape share their programs, and what they had on the device is given back when they are dropped.
func TestFederationsAreGivenBack(t *testing.T) {
	run := func(first int) {
		expect.Value(Run(context.Background(), large(t, first), &mean{Local: Local{Batch: 2, LR: 0.1}}, Options{Rounds: 1}))(t)
	}
	memory.Settle()
	buffers := pjrt.BuffersAlive()
	run(5)
	each := pjrt.BuffersAlive() - buffers
	before, most := xla.Compilations(), int64(0)
	for i := range 30 { // 600 MB
		run(6 + i)
		most = max(most, pjrt.BuffersAlive()-buffers)
	}
	if n := xla.Compilations() - before; n != 0 {
		t.Errorf("%d compilations for federations of a known shape, want 0", n)
	}
	if most > 20*each {
		t.Errorf("%d buffers were on the device at once, %d for each federation", most, each)
	}
	memory.Settle()
	if left := pjrt.BuffersAlive() - buffers; left > each {
		t.Errorf("%d buffers are left of 31 federations, %d for each", left, each)
	}
}
