package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// FullBatch as Job.Batch uses all of a client's examples in every step.
const FullBatch = -1

// Job is the local problem of some clients. From Start, each takes local steps
//
//	w ← w − η_i · m ⊙ ( ∇f_i(w; batch) + μ_i p ⊙ (w − a) + s )
//
// Tensors have one row shared by all clients, [1, d], or one per client of the job, [n, d]; a term whose tensor is nil costs
// nothing.
type Job struct {
	Clients   []int
	Names     []int     // the clients' numbers in errors
	Rows      [][]int   // by client of the job, those of its rows that it uses; nil: all
	Most      int       // clients of the largest job that the program is to serve; 0: of this one
	Batch     int       // examples per step, or FullBatch
	Epochs    int       // passes over the client's examples
	EpochsOf  []int     // by client of the job, instead of Epochs
	Steps     int       // if not 0, local steps instead of epochs
	StepsOf   []int     // by client of the job, instead of epochs or Steps
	Rate      []float64 // η_i by client of the job
	Optimizer Optimizer
	Memory    *tensors.Tensor // [n, slots·d], the optimizer's slots at the first step, which are then returned; nil: empty
	Before    []float32       // by client of the job, the local steps behind Memory
	Prox      []float64       // μ_i by client of the job; nil: no proximal term
	Clip      float64         // largest norm of an example's gradient; 0: gradients of the mean loss
	Noise     float64         // standard deviation of the noise in the sum of the clipped gradients

	Augment Augment // of the images

	Start                            *tensors.Tensor
	ProxWeights, Anchor, Shift, Mask *tensors.Tensor // p, a, s, m; an Anchor of nil is Start

	Objective Objective                  // nil: the task's loss
	Extra     map[string]*tensors.Tensor // the objective's inputs by name, [1, g] or [n, g]

	// PerExample has more of the objective's inputs by name: by client of the job, g numbers for each of its examples.
	PerExample map[string][][]float32

	// Starts replaces Start in a job that fits one program: one model [1, d] per client. The trained models are separate values
	// too, which saves stacking and slicing.
	Starts []*tensors.Tensor

	// Only lists the positions of the clients that train, ascending; nil: all. The programs do not depend on it.
	Only []int

	// Order returns the generator that shuffles a client's examples in an epoch.
	Order func(client, epoch int) *rand.Rand
	// Key returns the random bits of a client, for a task that needs them.
	Key func(client int) [3]uint64
}

// Optimizer turns gradients into a step.
type Optimizer interface {
	Slots() int
	Direction(w, g []*graph.Node, slots [][]*graph.Node, t *graph.Node) ([]*graph.Node, [][]*graph.Node)
}

// Objective replaces the task's loss in training.
type Objective interface {
	// Losses returns two losses per example, [C, B] each: the one that is minimized and the one that is reported.
	Losses(Batch) (trained, reported *graph.Node)
}

// Batch is the input of an objective in a step. Used [C, B] is the padding mask: 1 for an example, 0 for padding. Extra holds one
// node [C, g] or, for models, one per parameter; PerExample holds nodes [C, B, g].
type Batch struct {
	Params          []*graph.Node
	X, Y, Out, Used *graph.Node
	Extra           map[string][]*graph.Node
	PerExample      map[string]*graph.Node
}

// extra prefixes the names of the inputs in Job.Extra.
const extra = "extra "

// extraInput names the input for a matrix of Job.Extra. Quoting keeps any name on one line of the solver's table.
func extraInput(name string) string { return extra + strconv.Quote(name) }

// perExample names the input for a list of Job.PerExample.
func perExample(name string) string { return "per example " + strconv.Quote(name) }

// perExamples returns the names of the job's inputs per example, one per line.
func (j *Job) perExamples() (names string) {
	for _, name := range slices.Sorted(maps.Keys(j.PerExample)) {
		names += strconv.Quote(name) + "\n"
	}
	return names
}

// term is a per-client input of the solver's loop, by name: values by lane, or rows of a matrix.
type term struct {
	name   string
	byLane func(clients []int) any // [C, …] for the clients in the lanes, by position
	rows   *tensors.Tensor         // [1 or n, g]
}

// terms lists the terms of a job's local problem in the order of the solver's inputs, without those that it does not use. steps
// are the clients' local steps, known once the job is planned.
func (j *Job) terms(task *Task, steps []int) []term {
	all := []term{
		{name: "steps", byLane: lanes(func(i int) int32 { return int32(steps[i]) })},
		{name: "rate", byLane: lanes(func(i int) float32 { return float32(j.Rate[i]) })},
		{name: "prox", byLane: lanes(func(i int) float32 { return float32(j.Prox[i]) })},
		{name: "clip", byLane: lanes(func(int) float32 { return float32(j.Clip) })},
		{name: "noise", byLane: lanes(func(int) float32 { return float32(j.Noise) })},
		{name: "weights", rows: j.ProxWeights},
		{name: "anchor", rows: j.Anchor},
		{name: "shift", rows: j.Shift},
		{name: "mask", rows: j.Mask},
		{name: "key", byLane: lanes(func(i int) []uint64 { key := j.Key(j.Clients[i]); return key[:] })},
	}
	for _, name := range slices.Sorted(maps.Keys(j.Extra)) {
		all = append(all, term{name: extraInput(name), rows: j.Extra[name]})
	}
	return slices.DeleteFunc(all, func(t term) bool {
		unused := map[string]bool{"prox": j.Prox == nil, "clip": j.Clip == 0, "noise": j.Noise == 0, "key": !task.Random && j.Noise == 0 && j.Augment == Augment{}}
		return t.byLane == nil && t.rows == nil || unused[t.name]
	})
}

// lanes returns a function that collects a value per client, by lane.
func lanes[T any](of func(i int) T) func(clients []int) any {
	return func(clients []int) any {
		values := make([]T, len(clients))
		for lane, i := range clients {
			values[lane] = of(i)
		}
		return values
	}
}

// stepsOf returns the number of local steps of a client with n examples.
func (j *Job) stepsOf(n, batch, epochs int) int {
	if j.Steps > 0 {
		return j.Steps
	}
	return epochs * ((n + batch - 1) / batch)
}

// Batches splits a client's examples into batches, reshuffled every epoch. The last batch of an epoch has the remainder.
type Batches struct {
	Rows  []int
	Full  bool // full batch: no shuffling
	Order func(epoch int) *rand.Rand

	order []int32
	next  int
	epoch int
}

// Next fills dst with the next batch; positions beyond its end stay as they are.
func (b *Batches) Next(dst []int32) {
	if b.next == len(b.order) {
		if b.order == nil {
			b.order = make([]int32, len(b.Rows))
			for i, r := range b.Rows {
				b.order[i] = int32(r)
			}
		}
		if !b.Full {
			b.Order(b.epoch).Shuffle(len(b.order), func(i, j int) { b.order[i], b.order[j] = b.order[j], b.order[i] })
		}
		b.next = 0
		b.epoch++
	}
	b.next += copy(dst, b.order[b.next:])
}
