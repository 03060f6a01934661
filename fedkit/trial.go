package fedkit

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// The size of the trial: clients, and examples per client.
const trialClients, trialBatch = 2, 3

// try builds a task's graphs without compiling them, in a few milliseconds, so that mistakes are found before anything runs. usual
// means the default loss. The task of a GoMLX model function has no client axis, and is skipped.
func (t *Task) try(d *datasets.Dataset, usual bool) error {
	if _, err := xla.Backend(); err != nil || t.Store != nil {
		return nil // Run reports a missing device
	}
	for _, sets := range []int{trialClients, 1} { // examples per client, and the same for all clients
		if err := t.tryWith(d, sets, usual); err != nil {
			return fmt.Errorf("task %s: %w", t.Name, err)
		}
	}
	return nil
}

// tryWith builds the graphs for a number of sets of examples: one per client, or one for all.
func (t *Task) tryWith(d *datasets.Dataset, sets int, usual bool) error {
	e, stage := t.forEngine(), ""
	err := xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		p, x, y, _ := e.Inputs(in)
		stage = "Task.Forward"
		out := t.Forward(p, x)
		if usual && d.Classes > 0 {
			mustBe(out, d.Classes)
		} else if out == nil || usual && out.Rank() != 3 {
			mustBe(out)
		}
		stage = "Task.Accuracy"
		accuracy := t.Accuracy(out, y)
		mustBe(accuracy)
		stage = "Task.Loss"
		loss := t.Loss(out, y)
		mustBe(loss)
		if sets > 1 {
			graph.Gradient(graph.ReduceAllSum(loss), p...)
		}
		return []*graph.Node{loss, accuracy}
	}).Build(e.Arguments(d, trialClients, sets, trialBatch)...)
	return fault.Within(stage, err)
}

// mustBe panics, as GoMLX does while a graph is built, unless n has shape [trialClients, trialBatch, last…].
func mustBe(n *graph.Node, last ...int) {
	want := shapes.Make(dtypes.Float32, append([]int{trialClients, trialBatch}, last...)...)
	allowed := fmt.Sprintf("%v for %d clients with %d examples each", want, trialClients, trialBatch)
	if n == nil {
		panic(Invalid("", "a function that returns nil", allowed))
	}
	if !n.Shape().Equal(want) {
		panic(Invalid("", n.Shape(), allowed))
	}
}
