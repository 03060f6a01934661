package fedkit

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"github.com/gomlx/gomlx/core/graph"
)

// Objective replaces the task's loss in a Job: with a regularizer toward other models, distillation from a teacher's outputs,
// logits adjusted by a client's label distribution. Equal values share a compiled program, so its type must be comparable, and a
// number that changes from round to round belongs in Job.Extra rather than in a field.
type Objective interface {
	// Loss returns the loss of every example, [C, B]. Its mean over a batch is minimized. It must not mix values of different
	// clients.
	Loss(b *Batch) *graph.Node
}

// Batch is the input of an Objective in a local step: a batch of examples for each of C clients, the model being trained, and
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

// Loss returns the task's own loss of every example, [C, B], for outputs like Out.
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

// weights is the name of Job.Weights among the inputs per example.
const weights = ""

// objective adapts an Objective to the engine; nil is the task's loss.
type objective struct {
	Objective
	task     *Task
	weighted bool // by Job.Weights
}

func (o objective) Losses(in engine.Batch) (trained, reported *graph.Node) {
	b := &Batch{Task: o.task, Params: in.Params, X: in.X, Y: in.Y, Out: in.Out, Used: in.Used, extra: in.Extra, perExample: in.PerExample}
	if o.Objective == nil {
		trained = b.Loss(b.Out)
	} else {
		trained = o.Loss(b)
	}
	if o.weighted && trained != nil {
		trained = graph.Mul(trained, b.PerExample(weights))
	}
	if b.reported == nil {
		b.reported = trained
	}
	for _, loss := range []*graph.Node{trained, b.reported} { // any other shape would mix clients, or count padding
		if want := in.Used.Shape().Dimensions; loss == nil || !slices.Equal(loss.Shape().Dimensions, want) {
			var got any = "nil"
			if loss != nil {
				got = loss.Shape().Dimensions
			}
			panic(Invalid(fmt.Sprintf("loss of %T", o.Objective), got, fmt.Sprintf("%v, one for each example of each client", want)))
		}
	}
	return trained, b.reported
}
