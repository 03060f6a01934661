package task

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Prepare sets the defaults that depend on the data, and refuses a task that cannot be trained on them.
func Prepare(t *Task, d *datasets.Dataset) error {
	if err := t.fits(); err != nil {
		return err
	}
	usual := t.Loss == nil
	t.complete(d)
	if err := t.check(); err != nil {
		return err
	}
	return t.try(d, usual)
}

// fits refuses a model whose initial parameters do not fit on host and device.
func (t *Task) fits() error {
	d := Size(t)
	return memory.Fits("model "+t.Name, fmt.Sprintf("%.0f parameters", d), d, 2*4*d, "its first values on the host and on the device")
}

// TrialBatch is the number of examples per client in the graphs that Prepare builds.
const TrialBatch = 3

// try builds a task's graphs without compiling them, in a few milliseconds, so that mistakes are found before anything runs. usual
// means the default loss.
func (t *Task) try(d *datasets.Dataset, usual bool) error {
	if _, err := xla.Backend(); err != nil {
		return nil // Run reports a missing device
	}
	clients := 2
	if t.Store != nil { // a GoMLX model function has no client axis
		clients = 1
	}
	err := t.tryWith(d, clients, clients, usual) // examples of each client
	if err == nil && clients > 1 && t.tryWith(d, clients, 1, usual) != nil {
		t.Code = append(slices.Clip(t.Code), t.Forward, t.Features)
		t.Forward, t.Features = repeating(t.Forward), repeating(t.Features)
		err = t.tryWith(d, clients, 1, usual) // the same for all clients
	}
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Name, err)
	}
	return nil
}

// repeating gives each client its copy of examples that are the same for all, as Einsum("cbi,cio->cbo", x, w) needs them.
func repeating(f func(p []*graph.Node, x *graph.Node) *graph.Node) func(p []*graph.Node, x *graph.Node) *graph.Node {
	if f == nil {
		return nil
	}
	return func(p []*graph.Node, x *graph.Node) *graph.Node {
		if d, clients := x.Shape().Dimensions, p[0].Shape().Dimensions[0]; d[0] == 1 && clients > 1 {
			x = graph.BroadcastToDims(x, append([]int{clients}, d[1:]...)...)
		}
		return f(p, x)
	}
}

// tryWith builds the graphs for a number of sets of examples: one per client, or one for all.
func (t *Task) tryWith(d *datasets.Dataset, clients, sets int, usual bool) error {
	e, stage := ForEngine(t), ""
	mustBe := func(n *graph.Node, last ...int) { mustBe(n, append([]int{clients, TrialBatch}, last...)...) }
	err := xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		p, x, y, key := e.Inputs(in)
		stage = "Task.Forward"
		out := t.Forward(p, x)
		if shape := d.Outputs(); t.Store == nil && usual && (d.Classes > 0 || shape[0] > 1) {
			mustBe(out, shape...)
		} else if out == nil || t.Store == nil && usual && out.Rank() != 3 {
			mustBe(out)
		}
		stage = "Task.Accuracy"
		accuracy := t.Accuracy(out, y)
		mustBe(accuracy)
		stage = "Task.Loss"
		loss := t.Loss(out, y)
		mustBe(loss)
		if sets == clients {
			stage = "Task.Forward in training mode"
			now, out, end := t.training(key, nil, p, x)
			t.asks, t.draws = now.asked, now.drawn > 0
			trained := t.Loss(out, y)
			mustBe(trained)
			end()
			stage = "Task.Loss"
			graph.Gradient(graph.ReduceAllSum(trained), p...)
		}
		return []*graph.Node{loss, accuracy}
	}).Build(e.Arguments(d, clients, sets, TrialBatch)...)
	return fault.Within(stage, err)
}

// mustBe panics, as GoMLX does while a graph is built, unless n has a shape, which begins with the numbers of clients and examples.
func mustBe(n *graph.Node, dims ...int) {
	want := shapes.Make(dtypes.Float32, dims...)
	allowed := fmt.Sprintf("%v for %d clients with %d examples each", want, dims[0], dims[1])
	if n == nil {
		panic(fault.Invalid("", "a function that returns nil", allowed))
	}
	if !n.Shape().Equal(want) {
		panic(fault.Invalid("", n.Shape(), allowed))
	}
}
