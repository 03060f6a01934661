package engine

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// FullBatch as Job.Batch takes all of a client's examples in every step.
const FullBatch = -1

// Job is what clients are asked to do: start somewhere, and solve
//
//	w ← w − η_i · m ⊙ ( ∇f_i(w; batch) + μ_i p ⊙ (w − a) + s )
//
// Tensors have one row for everyone, [1, d], or one for each client of the job, [n, d]; a term whose tensor is nil costs
// nothing.
type Job struct {
	Clients   []int
	Names     []int     // what errors call the clients
	Batch     int       // examples per step, or FullBatch
	Epochs    int       // passes over the client's examples
	EpochsOf  []int     // by client of the job, instead of Epochs
	Steps     int       // if not 0, steps instead of epochs
	StepsOf   []int     // by client of the job, instead of epochs or Steps
	Rate      []float64 // η_i by client of the job
	Optimizer Optimizer
	Prox      []float64 // μ_i by client of the job; nil: no such term

	Start                            *tensors.Tensor
	ProxWeights, Anchor, Shift, Mask *tensors.Tensor // p, a, s, m; an Anchor of nil is Start

	Objective Objective                  // nil: the task's loss
	Extra     map[string]*tensors.Tensor // what the objective sees by name, [1, g] or [n, g]

	// Starts are one model [1, d] for each client of a job that one program does, in place of Start. The models that come out are apart,
	// too: nobody has to put them together and take them apart.
	Starts []*tensors.Tensor

	// Only are the clients that do, by position, in ascending order; nil: all. Whoever is left out, the same programs serve.
	Only []int

	// Order returns the generator of the order in which a client sees its examples in an epoch.
	Order func(client, epoch int) *rand.Rand
	// Key returns the random bits of a client, for a task that needs them.
	Key func(client int) [3]uint64
}

// Optimizer turns gradients into a step.
type Optimizer interface {
	Slots() int
	Direction(w, g []*graph.Node, slots [][]*graph.Node, t *graph.Node) ([]*graph.Node, [][]*graph.Node)
}

// Objective is what is minimized instead of the task's loss.
type Objective interface {
	// Losses returns the loss of every example that is minimized and the one that is reported, [C, B] each.
	Losses(Batch) (trained, reported *graph.Node)
}

// Batch is what an objective sees in a step. Used [C, B] is 1 for an example, and 0 for a row that only fills a batch. Extra
// holds one node [C, g], or, for models, one per parameter.
type Batch struct {
	Params          []*graph.Node
	X, Y, Out, Used *graph.Node
	Extra           map[string][]*graph.Node
}

// extra is what the names of the inputs in Job.Extra begin with.
const extra = "extra "

// extraInput names the input for a matrix of Job.Extra. It is quoted, and so one line of the table, whatever it is called.
func extraInput(name string) string { return extra + strconv.Quote(name) }

// term is what the loop of a solver reads of its clients, and the name of the input for it: numbers, by lane, or rows.
type term struct {
	name   string
	byLane func(clients []int) any // [C, …] for the clients in the lanes, by position
	rows   *tensors.Tensor         // [1 or n, g]
}

// terms describes the local problem of a job in the order of the solver's inputs. What the job does not use is not there. Steps are
// those of each client, known once the job is planned.
func (j *Job) terms(task *Task, steps []int) []term {
	all := []term{
		{name: "steps", byLane: lanes(func(i int) int32 { return int32(steps[i]) })},
		{name: "rate", byLane: lanes(func(i int) float32 { return float32(j.Rate[i]) })},
		{name: "prox", byLane: lanes(func(i int) float32 { return float32(j.Prox[i]) })},
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
		return t.byLane == nil && t.rows == nil || t.name == "prox" && j.Prox == nil || t.name == "key" && task.Train == nil
	})
}

// lanes lays a value of each client out by lane.
func lanes[T any](of func(i int) T) func(clients []int) any {
	return func(clients []int) any {
		values := make([]T, len(clients))
		for lane, i := range clients {
			values[lane] = of(i)
		}
		return values
	}
}

// stepsOf returns how many steps a client with n examples takes.
func (j *Job) stepsOf(n, batch, epochs int) int {
	if j.Steps > 0 {
		return j.Steps
	}
	return epochs * ((n + batch - 1) / batch)
}

// Batches splits a client's examples into batches, in a new order every epoch. The last batch holds what is left.
type Batches struct {
	Rows  []int
	Full  bool // one batch holds all, so there is no order to draw
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
