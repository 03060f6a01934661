package engine

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Text lowers a task to StableHLO: outputs, losses, accuracies and gradients of a batch, in training mode too if it has one, and
// features if it has them. Equal texts are equal tasks.
func (t *Task) Text(d *datasets.Dataset, batch int, features func(p []*graph.Node, x *graph.Node) *graph.Node) ([]byte, error) {
	lanes := 2
	if t.alone() {
		lanes = 1
	}
	return xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		touchVariables(t, in[0].Graph())
		p, x, y, key := t.Inputs(in)
		outputs := t.traced(p, x, y, nil)
		if t.Train != nil {
			outputs = append(outputs, t.traced(p, x, y, key)...)
		}
		if features != nil {
			outputs = append(outputs, features(p, x))
		}
		return outputs
	}).Text(t.Arguments(d, lanes, lanes, batch)...)
}

// traced returns the task's outputs, losses, accuracies and gradients, in training mode if there is a key.
func (t *Task) traced(p []*graph.Node, x, y, key *graph.Node) []*graph.Node {
	end := func() *graph.Node { return nil }
	if key != nil {
		end = t.Train(key)
	}
	out := t.Forward(p, x)
	loss := t.Loss(out, y)
	objective := graph.ReduceAllSum(loss)
	if penalty := end(); penalty != nil {
		objective = graph.Add(objective, graph.ReduceAllSum(penalty))
	}
	return append([]*graph.Node{out, loss, t.Accuracy(out, y)}, graph.Gradient(objective, p...)...)
}
