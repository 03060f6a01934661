package task

import (
	"fmt"
	"slices"
	"sync"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Training is a local step as a model in training mode sees it.
type Training struct {
	task      *Task
	key, used *graph.Node
	p, next   []*graph.Node
	batch     []int // C, B
	asked     bool  // TrainingOf was called
	drawn     int   // calls of Key
}

// trainings are those of the graphs being built, *Training by *graph.Graph.
var trainings sync.Map

// TrainingOf is fedkit.TrainingOf.
func TrainingOf(x *graph.Node) *Training {
	t, _ := trainings.Load(x.Graph())
	now, _ := t.(*Training)
	if now != nil {
		now.asked = true
	}
	return now
}

// Used is 1 for an example and 0 for a row that only fills the batch, [C, B]. What a model computes from several rows must count
// only the former, and must not divide by 0: a client that has finished its steps before others has no examples.
func (t *Training) Used() *graph.Node {
	if t.used == nil {
		t.used = graph.Ones(t.p[0].Graph(), shapes.Make(dtypes.Float32, t.batch...))
	}
	return t.used
}

// Key holds random bits of the client and the step, [C, 3] uint64, in the format of GoMLX's random generator state.
func (t *Training) Key() *graph.Node {
	t.drawn++
	if t.key == nil {
		panic(fault.Invalid("key", "nil", "[C, 3] random bits for a model that draws random numbers"))
	}
	return t.key
}

// Bits draws n random bits for each client, [C, n] uint32 with 32 in each: others for every client, step and call. The same seed gives the
// same on any device.
//
// It is Threefry-2x32: the key are the first two words of Key, and the counter is the position and the third word with the number of the
// call.
func (t *Training) Bits(n int) *graph.Node {
	words := graph.ConvertDType(t.Key(), dtypes.Uint32) // the lower halves
	if n < 1 {
		panic(fault.Invalid("Training.Bits: n", n, "at least 1"))
	}
	dims := []int{words.Shape().Dim(0), (n + 1) / 2}
	word := func(i int) *graph.Node {
		return graph.BroadcastToDims(graph.Slice(words, graph.AxisRange(), graph.AxisElem(i)), dims...)
	}
	position := graph.Iota(words.Graph(), shapes.Make(dtypes.Uint32, dims...), 1)
	a, b := xla.Threefry(word(0), word(1), position, graph.AddScalar(word(2), uint32(t.drawn)))
	return graph.Slice(graph.Concatenate([]*graph.Node{a, b}, 1), graph.AxisRange(), graph.AxisRange(0, n))
}

// Set sets the value of a running value after this step: param is one of p as Forward got them, and next has its shape,
// [C, shape…]. A client that has finished its steps keeps what it has.
func (t *Training) Set(param, next *graph.Node) {
	l := slices.Index(t.p, param)
	switch {
	case l < 0:
		panic(fault.Invalid("Training.Set: param", param, "one of the parameters that Forward gets, not computed from them"))
	case !t.task.Params[l].Running:
		panic(fault.Invalid("Training.Set: param", t.task.Params[l].Name, "a parameter with Param.Running"))
	case next == nil || !next.Shape().Equal(param.Shape()):
		panic(fault.Invalid("Training.Set: next value of "+t.task.Params[l].Name, next, fmt.Sprintf("of shape %s", param.Shape())))
	}
	t.next[l] = next
}

// InTraining is Forward in training mode, as in a local step, in any graph. end, called once after it, returns the penalty [C] or nil,
// and the parameters with the running values that follow. key [C, 3] may be nil if the model draws no random numbers; used [C, B] may be nil
// if all rows are examples.
func (t *Task) InTraining(key, used *graph.Node, p []*graph.Node, x *graph.Node) (out *graph.Node, end func() (penalty *graph.Node, next []*graph.Node)) {
	_, out, end = t.training(key, used, p, x)
	return out, end
}

// training is InTraining, and returns what the model saw.
func (t *Task) training(key, used *graph.Node, p []*graph.Node, x *graph.Node) (now *Training, out *graph.Node, end func() (penalty *graph.Node, next []*graph.Node)) {
	g, penalty := x.Graph(), func() *graph.Node { return nil }
	now = &Training{task: t, key: key, used: used, p: p, next: slices.Clone(p), batch: x.Shape().Dimensions[:2]}
	trainings.Store(g, now)
	defer trainings.Delete(g)
	if t.Train != nil {
		penalty = t.Train(now)
	}
	return now, t.Forward(p, x), func() (*graph.Node, []*graph.Node) { return penalty(), now.next }
}

// LeaveOutOne notes that running values of the model do not count batches of one row.
func LeaveOutOne(t *Training) {
	if !t.task.leavesOutOne { // later builds than that of Prepare may be concurrent
		t.task.leavesOutOne = true
	}
}

// LeavesOutOne reports what LeaveOutOne noted.
func LeavesOutOne(t *Task) bool { return t.leavesOutOne }

// Running returns the name of the first running value, or "".
func Running(t *Task) string {
	for _, p := range t.Params {
		if p.Running {
			return p.Name
		}
	}
	return ""
}

// RunningMask returns 1 for running values and 0 for what is trained, [d]; nil if there are none.
func RunningMask(t *Task) []float32 {
	if Running(t) == "" {
		return nil
	}
	return t.maskOf(func(p Param) bool { return p.Running })
}
