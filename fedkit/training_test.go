package fedkit

import (
	"context"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
)

// counting is a linear model, y = 0·x + bias, that counts its steps and examples in a running value between its parameters.
func counting(change func(t *Task)) Model {
	return func(*datasets.Dataset) (*Task, error) {
		t := &Task{Name: "counting", Params: []Param{{Name: "weights", Shape: []int{1}}, {Name: "seen", Shape: []int{2}, Running: true}, {Name: "bias", Shape: []int{1}}}}
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			if now := TrainingOf(x); now != nil {
				examples := graph.ReduceAndKeep(now.Used(), graph.ReduceSum, 1) // [C, 1]
				now.Set(p[1], graph.Add(p[1], graph.Concatenate([]*graph.Node{graph.OnesLike(examples), examples}, 1)))
			}
			return graph.Add(graph.Mul(graph.Squeeze(x, -1), p[0]), p[2])
		}
		if change != nil {
			change(t)
		}
		return t, nil
	}
}

// countable is a regression with clients of the given sizes.
func countable(m Model, sizes ...int) (*Federation, error) {
	d := &datasets.Dataset{Name: "line", Shape: []int{1}}
	var rule partition.Given
	for _, n := range sizes {
		var c partition.Client
		for range n {
			c.Train = append(c.Train, d.Train.Len())
			d.Train.Floats, d.Train.Targets = append(d.Train.Floats, float32(d.Train.Len()%3)), append(d.Train.Targets, 1)
		}
		c.Test, rule = c.Train[:1], append(rule, partition.Client{Train: c.Train, Test: c.Train[:1]})
	}
	d.Test = d.Train
	return New(d, rule, m)
}

// A running value is what Forward sets it to, exactly: nothing else moves it, and a client that has finished its steps before others
// in its program keeps it. A mask freezes it.
func TestNothingElseMovesRunningValues(t *testing.T) {
	sizes := []int{3, 17, 8, 1, 12, 5}
	fed := expect.Value(countable(counting(nil), sizes...))(t)
	start := NewMatrix([]float32{1, 10, 20, 1}, 1, 4)
	adam := Local{Epochs: 2, Batch: 4, LR: 0.1, Optimizer: WeightDecay{Lambda: 0.5, Then: Clip{Norm: 0.1, Then: Adam{}}}}
	for name, job := range map[string]Job{
		"SGD":       {Local: Local{Epochs: 2, Batch: 4, LR: 0.01}},
		"all terms": {Local: adam, Pulls: []Pull{{Weight: 3, To: Zeros(1, 4)}}, Shift: NewMatrix([]float32{1, 1, 1, 1}, 1, 4)},
		"no memory": {Local: Local{Epochs: 2, Batch: 4, LR: 0.01, Optimizer: Momentum{}}, Mask: ones(4, 3)},
		"frozen":    {Local: adam, Mask: NewMatrix([]float32{1, 0, 0, 1}, 1, 4)},
	} {
		job.Clients, job.Start = sequence(len(sizes)), start
		u := solve(t, fed, 1, job, 1, 1)
		for i, w := range rowsOf(t, u.Models) {
			steps, examples := 10+float64(u.Results[i].Steps), 20+float64(2*sizes[i])
			if name == "frozen" {
				steps, examples = 10, 20
			}
			expect.That(t, w[1] == steps && w[2] == examples,
				"%s: client %d has seen %v steps and %v examples, want %v and %v", name, i, w[1], w[2], steps, examples)
			expect.That(t, w[0] != 1 && (w[3] != 1 || name == "no memory"), "%s: client %d did not train: %v", name, i, w)
		}
	}
	u := expect.Value(fed.Train(context.Background(), Job{Clients: sequence(len(sizes)), Start: start, Local: Local{Batch: FullBatch, LR: 0.01}}, 1))(t)
	mean := rowsOf(t, u.Models.Mean(nil))[0]
	expect.That(t, mean[1] == 11, "the mean of the steps is %v, want 11", mean[1])
}

// Mistakes are found when the federation is made, and named; what counts rows that only fill a batch, when it first trains.
func TestWrongRunningValues(t *testing.T) {
	set := func(f func(now *Training, p []*graph.Node, x *graph.Node)) func(*Task) {
		return func(t *Task) {
			forward := t.Forward
			t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
				out := forward(p, x)
				if now := TrainingOf(x); now != nil {
					f(now, p, x)
				}
				return out
			}
		}
	}
	for want, change := range map[string]func(*Task){
		"": nil,
		"Training.Set: param = weights: must be a parameter with Param.Running":   set(func(now *Training, p []*graph.Node, _ *graph.Node) { now.Set(p[0], p[0]) }),
		"must be one of the parameters that Forward gets, not computed from them": set(func(now *Training, p []*graph.Node, _ *graph.Node) { now.Set(graph.Neg(p[1]), p[1]) }),
		"Training.Set: next value of seen = ":                                     set(func(now *Training, p []*graph.Node, _ *graph.Node) { now.Set(p[1], p[0]) }),
		"Training.Bits: n = 0: must be at least 1":                                set(func(now *Training, _ []*graph.Node, _ *graph.Node) { now.Bits(0) }),
	} {
		expect.Outcome(t, want)(countable(counting(change), 4, 5))
	}
	fed := expect.Value(countable(counting(set(func(now *Training, p []*graph.Node, x *graph.Node) {
		now.Set(p[1], graph.Add(p[1], graph.ReduceSum(x, 1)))
	})), 4, 5))(t)
	job := Job{Clients: []int{0, 1}, Start: expect.Value(fed.Models(1, 0))(t)}
	expect.Invalid(t, "a client's training step = a result that depends on rows that only fill its batch")(fed.Train(context.Background(), job, 1))
}
