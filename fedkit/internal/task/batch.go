package task

import (
	"fmt"

	"fedkit.example/fedkit/internal/engine"
	"github.com/gomlx/gomlx/core/graph"
)

// Batch is the input of a fedkit.Objective in a local step: a batch of examples for each of C clients, the model being trained, and
// the Job's Extra and PerExample.
type Batch struct {
	Task   *Task         // whose Forward and Loss may be used
	Params []*graph.Node // w, the model being trained, as in Task.Forward
	X, Y   *graph.Node   // inputs [C, B, data shape…], and labels or targets, [C, B] or [C, B, t]
	Out    *graph.Node   // outputs of the model for X, as in Task.Forward: [C, B, classes]

	// Used is 1 for an example and 0 for padding, [C, B]. A loss per example may ignore it, since the loss of padding does not
	// count. A loss with a mean over the batch must use it, and must not divide by 0: a client that has finished its steps before
	// others has no examples.
	Used *graph.Node

	extra      map[string][]*graph.Node
	perExample map[string]*graph.Node
	reported   *graph.Node
}

// BatchOf returns what an Objective gets from the engine's batch.
func BatchOf(t *Task, in engine.Batch) *Batch {
	return &Batch{Task: t, Params: in.Params, X: in.X, Y: in.Y, Out: in.Out, Used: in.Used, extra: in.Extra, perExample: in.PerExample}
}

// Reported returns the loss per example that b was told to report; nil if it was not.
func Reported(b *Batch) *graph.Node { return b.reported }

// Loss returns the task's own loss of every example, [C, B], for outputs like Out: see also Local.LabelSmoothing.
func (b *Batch) Loss(out *graph.Node) *graph.Node { return b.Task.Loss(out, b.Y) }

// Forward returns the outputs of another model for X, such as Model("global"). It is always in evaluation mode: for a task with
// Train, only Out is of the model in training mode.
func (b *Batch) Forward(p []*graph.Node) *graph.Node { return b.Task.Forward(p, b.X) }

// Features returns the representation of X by a model, such as Params or Model("global"), before its last layer: [C, B, f];
// the outputs if the task has no Features.
func (b *Batch) Features(p []*graph.Node) *graph.Node { return b.Layer("", p) }

// Extra returns the matrix that the Job has under a name, [C, g]: each client's row, or the single row, broadcast.
func (b *Batch) Extra(name string) *graph.Node {
	nodes := b.named(name)
	if len(nodes) == 1 {
		return graph.Reshape(nodes[0], nodes[0].Shape().Dim(0), -1)
	}
	return b.Task.Join(nodes)
}

// Model returns the model that the Job's Extra has under a name, [1, d] or [n, d], split into parameters like Params. No gradient
// flows into it.
func (b *Batch) Model(name string) []*graph.Node {
	nodes := b.named(name)
	size := 0
	for _, n := range nodes {
		size += n.Shape().Size() / n.Shape().Dim(0)
	}
	if size != b.Task.Dim() {
		panic(fmt.Errorf("Job.Extra[%q] is no model: it must have %d columns", name, b.Task.Dim()))
	}
	return nodes
}

func (b *Batch) named(name string) []*graph.Node {
	nodes, ok := b.extra[name]
	if !ok {
		panic(fmt.Errorf("Job.Extra has no %q", name))
	}
	return nodes
}

// PerExample returns the numbers that the Job has for each example of the batch under a name: [C, B, g], or [C, B] if g is 1. Padding
// has those of some example.
func (b *Batch) PerExample(name string) *graph.Node {
	n, ok := b.perExample[name]
	if !ok {
		panic(fmt.Errorf("Job.PerExample has no %q", name))
	}
	if n.Shape().Dim(-1) == 1 {
		return graph.Squeeze(n, -1)
	}
	return n
}

// Report sets the loss per example, [C, B], for ClientResult.Loss. Default: the loss that is minimized.
func (b *Batch) Report(loss *graph.Node) { b.reported = loss }

// Layer returns the output of a named layer for X by a model, such as Params or Model("global"), [C, B, …]; Features if the name is
// empty. Like Forward, it is always in evaluation mode.
func (b *Batch) Layer(name string, p []*graph.Node) *graph.Node {
	return Layer(b.Task, name, p, b.X)
}
