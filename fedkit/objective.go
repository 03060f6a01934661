package fedkit

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/task"
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
// the Job's Extra and PerExample. Fields and methods: go doc internal/task.Batch
type Batch = task.Batch

// weights is the name of Job.Weights among the inputs per example.
const weights = ""

// objective adapts an Objective to the engine; nil is the task's loss.
type objective struct {
	Objective
	task     *Task
	weighted bool // by Job.Weights
}

func (o objective) Losses(in engine.Batch) (trained, reported *graph.Node) {
	b := task.BatchOf(o.task, in)
	if o.Objective == nil {
		trained = b.Loss(b.Out)
	} else {
		trained = o.Loss(b)
	}
	if o.weighted && trained != nil {
		trained = graph.Mul(trained, b.PerExample(weights))
	}
	reported = cmp.Or(task.Reported(b), trained)
	for _, loss := range []*graph.Node{trained, reported} { // any other shape would mix clients, or count padding
		if want := in.Used.Shape().Dimensions; loss == nil || !slices.Equal(loss.Shape().Dimensions, want) {
			var got any = "nil"
			if loss != nil {
				got = loss.Shape().Dimensions
			}
			panic(Invalid(fmt.Sprintf("loss of %T", o.Objective), got, fmt.Sprintf("%v, one for each example of each client", want)))
		}
	}
	return trained, reported
}
