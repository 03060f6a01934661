package engine

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Text lowers a task to StableHLO: outputs, losses, accuracies and gradients of a batch, in training mode too if it has one, and
// what else it has, such as features. Equal texts are equal tasks.
func (t *Task) Text(d *datasets.Dataset, batch int, more func(p []*graph.Node, x *graph.Node) []*graph.Node) ([]byte, error) {
	lanes := 2
	if t.Alone {
		lanes = 1
	}
	return xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		touchVariables(t, in[0].Graph())
		p, x, y, key := t.Inputs(in)
		outputs := t.traced(p, y, t.Forward(p, x), nil)
		if t.Train != nil {
			out, end := t.Train(key, nil, p, x)
			outputs = append(outputs, t.traced(p, y, out, end)...)
		}
		return append(outputs, more(p, x)...)
	}).Text(t.Arguments(d, lanes, lanes, batch)...)
}

// traced returns outputs with their losses, accuracies and gradients and, in training mode, the next running values.
func (t *Task) traced(p []*graph.Node, y, out *graph.Node, end func() (penalty *graph.Node, next []*graph.Node)) []*graph.Node {
	loss := t.Loss(out, y)
	objective := graph.ReduceAllSum(loss)
	var next []*graph.Node
	if end != nil {
		var penalty *graph.Node
		if penalty, next = end(); penalty != nil {
			objective = graph.Add(objective, graph.ReduceAllSum(penalty))
		}
	}
	all := []*graph.Node{out, loss, t.Accuracy(out, y)}
	func() {
		defer func() { // GoMLX has no gradients of some operations, and needs none of them in evaluation if there is a training mode
			if p := recover(); p != nil && (t.Train == nil || end != nil) {
				panic(p)
			}
		}()
		all = append(all, graph.Gradient(objective, t.trained(p)...)...)
	}()
	for l, v := range next {
		if t.running(l) {
			all = append(all, v)
		}
	}
	return all
}
