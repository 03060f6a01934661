package fedkit

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
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
		{"no federation", func() error { return (*Federation)(nil).Fits("K", 1e9, 1e9) }, ""},
		{"a cohort", func() error { return fed.fitsCohort(21) },
			"invalid: clients per round = 21: must be at most 20: 21 models of 39 parameters take 3.3 kB, and 3.1 kB are free"},
		{"steps", func() error { return fed.fitsLocal(Local{Steps: 100, Batch: 4, LR: 1}, 1) },
			"invalid: Steps = 100: must be at most 97: batches of 4 examples for 100 steps take 3.2 kB, and 3.1 kB are free"},
		{"steps of several clients", func() error { return fed.fitsLocal(Local{Steps: 60, Batch: 4, LR: 1}, 9) }, "must be at most 48"},
		{"epochs", func() error { return fed.fitsLocal(Local{Epochs: 10, Batch: FullBatch, LR: 1}, 1) }, "Epochs = 10: must be at most 9"},
		{"one epoch", func() error { return fed.fitsLocal(Local{}.WithDefaults(), 1) }, ""},
		{"data", func() error { return fed.fitsRun([]Strategy{&mean{}}, 3) }, ""}, // 123 examples of 24 bytes
		{"a model", func() error {
			return task.Prepare(&Task{Name: "big", Params: []Param{{Shape: []int{20, 20}}}}, nil)
		},
			"invalid: model big = 400 parameters: must be at most 390"},
		{"a huge model", func() error {
			return task.Prepare(&Task{Params: []Param{{Shape: []int{math.MaxInt, math.MaxInt}}}}, nil)
		}, "must be at most 390"},
	} {
		expect.Outcome(t, c.want)(c.check())
	}
	machine(t, 2900)
	expect.Error(t, "examples = 123: must be at most 120")(Run(context.Background(), fed, &mean{}, Options{Rounds: 1}))
	expect.That(t, fed.lazy.Engine == nil, "the data was put on the device")
}

// What is advised fits, and no more: models of 39 parameters before and after a round, twice if clients return their own, beside a
// program that trains three clients with six models and an example of 5 features, four times, for each, or evaluates by sixteenths.
func TestWhatIsAdvisedFits(t *testing.T) {
	fed, _ := toy(t, 40, 40, 40)
	const lane = 4 * (6*39 + 4*5)
	for _, c := range []struct {
		free    float64
		n, most int
		words   string
	}{
		{3*lane + 3120, 11, 10, ": 11 models of 39 parameters, before and after a round, take 3.4 kB, and 3.1 kB are free beside 3.0 kB for programs"},
		{3*lane + 3*624, 3, 3, ""},
		{3*lane + 3*624 - 1, 3, 2, ": 3 models of 39 parameters, before and after a round, and as clients return them, take 1.9 kB, and 1.9 kB are free beside 3.0 kB for programs"},
		{2*(lane+624) - 1, 3, 1, ": 3 models"},
		{16 * 20 * 468, 500, (16*20*468 - 20*468) / 312, ""},  // evaluated by twenties
		{16 * 40 * 468, 2000, (16*40*468 - 32*468) / 312, ""}, // never by more than 32
	} {
		machine(t, c.free)
		if c.n > c.most {
			expect.Invalid(t, fmt.Sprintf("K = %d: must be at most %d%s", c.n, c.most, c.words))(fed.Fits("K", c.n, float64(c.n)))
		}
		if c.n != fed.Size() {
			expect.OK(t, fed.Fits("K", c.most, float64(c.most)))
			expect.Invalid(t, fmt.Sprintf("must be at most %d", c.most))(fed.Fits("K", c.most+1, float64(c.most+1)))
			continue
		}
		few, _ := toy(t, slices.Repeat([]int{40}, c.most)...)
		expect.OK(t, few.Fits("K", c.most, float64(c.most)))
	}
}

// Training and evaluation are refused before their programs run, with what is free beside them, and what is free beside the results.
func TestProgramsThatDoNotFitAreRefused(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	x := expect.Value(fed.Models(3, 0))(t)
	job := Job{Clients: sequence(3), Local: Local{Batch: 4, LR: 0.1}, Start: x}
	expect.Value(fed.engine())(t)              // when there is memory
	const needed = 3 * (156 + 6*156 + 4*4*4*5) // models, and in each lane six more and 4 examples of 5 features, four times
	machine(t, needed)
	expect.Value(fed.Train(t.Context(), job, 0))(t)
	machine(t, needed-1)
	_, err := fed.Train(t.Context(), job, 0)
	expect.Invalid(t, "clients per round = 3: must be at most 2: 3 models of 39 parameters take 468 B, and 467 B are free beside 3.8 kB for programs")(err)
	machine(t, 467)
	_, err = fed.Predict(t.Context(), x.Take(0), datasets.TestPart, nil)
	expect.Invalid(t, "models evaluated side by side = 1: must be at most 0: 1 of 39 parameters, with copies, take 468 B, and 467 B are free")(err)
}

// Scores are the same to the bit, however many models a program evaluates.
func TestPiecesChangeNoScore(t *testing.T) {
	fed, _ := toy(t, 40, 33, 70, 5, 1)
	models, own := randomMatrix(3, 5, fed.Task.Dim()), make([][]*engine.Scores, 2)
	e := expect.Value(fed.engine())(t)
	for _, pieces := range []int{32, 3, 1} {
		w := engine.CPU
		w.Memory = 4 * pieces * 4 * (3*fed.Task.Dim() + 4*32*fed.Data.Features())
		fed.lazy.Engine = e.WithWidth(w)
		var which []int
		rows := sequence(fed.Data.Train.Len())
		for i := range rows {
			which = append(which, i%5)
		}
		for i, v := range []engine.Evaluation{{Rows: rows, Which: which, Outputs: true}, {Rows: rows, Outputs: true}} {
			s := expect.Value(fed.scores(t.Context(), models, v, engine.Here(1)))(t)
			if own[i] = append(own[i], s); !reflect.DeepEqual(s, own[i][0]) {
				t.Errorf("evaluation %d: the scores of %d models at a time differ from those of 32", i, pieces)
			}
		}
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
	n := xla.Compilations() - before
	expect.That(t, n == 0, "%d compilations for federations of a known shape, want 0", n)
	expect.That(t, most <= 20*each, "%d buffers were on the device at once, %d for each federation", most, each)
	memory.Settle()
	left := pjrt.BuffersAlive() - buffers
	expect.That(t, left <= each, "%d buffers are left of 31 federations, %d for each", left, each)
}
