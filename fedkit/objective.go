package fedkit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/task"
	"github.com/gomlx/compute/shapes"
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
	weighted bool    // by Job.Weights
	smooth   float64 // Local.LabelSmoothing
	classes  int
}

// objective returns what the engine minimizes; nil for the task's loss.
func (j *Job) objective(fed *Federation) engine.Objective {
	if j.Objective == nil && j.Weights == nil && j.Local.LabelSmoothing == 0 {
		return nil
	}
	return objective{j.Objective, fed.Task, j.Weights != nil, j.Local.LabelSmoothing, fed.Data.Classes}
}

// perExample returns the objective's inputs per example.
func (j *Job) perExample() map[string][][]float32 {
	if j.Weights == nil {
		return j.PerExample
	}
	all := map[string][][]float32{weights: j.Weights}
	maps.Copy(all, j.PerExample)
	return all
}

func (o objective) Losses(in engine.Batch) (trained, reported *graph.Node) {
	of := o.task
	if o.smooth > 0 {
		own := *of
		own.Loss = smoothed(of.Loss, o.smooth, o.classes)
		of = &own
	}
	b := task.BatchOf(of, in)
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

// smoothed returns a loss with smoothed labels: see Local.LabelSmoothing.
func smoothed(loss func(out, y *graph.Node) *graph.Node, by float64, classes int) func(out, y *graph.Node) *graph.Node {
	return func(out, y *graph.Node) *graph.Node {
		dims := slices.Insert(slices.Clone(out.Shape().Dimensions), 2, classes) // [C, B, K, …]: each example with each label
		each := graph.Reshape(graph.BroadcastToDims(graph.InsertAxes(out, 2), dims...), slices.Concat([]int{dims[0], dims[1] * classes}, dims[3:])...)
		labels := graph.Reshape(graph.Iota(y.Graph(), shapes.Make(y.DType(), dims[:3]...), 2), dims[0], -1)
		mean := graph.ReduceMean(graph.Reshape(loss(each, labels), dims[:3]...), 2)
		return graph.Add(graph.MulScalar(loss(out, y), 1-by), graph.MulScalar(mean, by))
	}
}

// Pull is a proximal term, as in FedProx. It adds to the objective of client i
//
//	(λ_i/2) Σ_j p_j (w_j − a_j)²,
//
// and so λ_i p ⊙ (w − a) to its gradient. Several pulls are merged into one with the same gradient, so that the compiled program
// stays the same.
type Pull struct {
	To      *Matrix   // a, [1, d] or [n, d]; nil: Start
	Weight  float64   // λ ≥ 0, the same for all clients
	Weights []float64 // λ_i by client of the job, instead of Weight
	Mask    *Matrix   // p, weight ≥ 0 of each parameter, such as 1 for one that is pulled and 0 for one that is not, [1, d] or [n, d]; nil: 1 for all
}

// pulls returns the job's pulls, or that of Local.Prox.
func (j *Job) pulls() []Pull {
	if j.Pulls == nil && j.Local.Prox > 0 {
		return []Pull{{Weight: j.Local.Prox}}
	}
	return j.Pulls
}

// mu returns each client's Σ_k λ_k; nil if there are no pulls.
func (j *Job) mu() (mu []float64) {
	pulls := j.pulls()
	if len(pulls) == 0 {
		return nil
	}
	for i := range j.Clients {
		mu = append(mu, 0)
		for _, p := range pulls {
			mu[i] += rows.Pull(p).At(i)
		}
	}
	return mu
}

// pull merges the job's pulls into one. Its To is nil if that is Start.
func (j *Job) pull() (one Pull) {
	for i, p := range j.pulls() {
		if i == 0 {
			one = p
		} else {
			one = Pull(rows.Pull(one).Merge(rows.Pull(p), j.Start))
		}
	}
	if one.To == j.Start {
		one.To = nil
	}
	return one
}

// checkPulls refuses pulls with invalid weights or shapes.
func (j *Job) checkPulls(d int) error {
	for k, p := range j.Pulls {
		name, n := fmt.Sprintf("Pulls[%d]", k), len(j.Clients)
		ok := func(weight float64) bool { return weight >= 0 && !math.IsInf(weight, 0) }
		switch {
		case !ok(p.Weight):
			return Invalid("Job."+name+".Weight", p.Weight, "a number ≥ 0")
		case p.Weight != 0 && p.Weights != nil:
			return Invalid("Job."+name+".Weights", p.Weights, "nil if Weight is set: use one of them")
		}
		if err := checkList(name+".Weights", p.Weights, j.Clients, "≥ 0", ok); err != nil {
			return err
		}
		if err := cmp.Or(checkRows(name+".To", p.To, n, d), checkRows(name+".Mask", p.Mask, n, d)); err != nil {
			return err
		}
	}
	return nil
}
