// Package task has the learning problem of a federation: a model with its loss and accuracy, its parameters, and what is known of it in
// training. What only package fedkit needs of a task is a function here, not a method, so that users do not see it.
package task

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/loss"
	"github.com/gomlx/gomlx/core/graph"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// Task is a model with its loss and accuracy, as GoMLX graph functions.
//
// All functions work on several clients at once: parameters, inputs and labels have a leading client axis C, and
// values of different clients must not be mixed. A dense layer is a batched matrix product,
// Einsum("cbi,cio->cbo", x, w), or model.Dense.
type Task struct {
	Name   string  // for histories and plots: "MLP-64"
	Params []Param // concatenated in this order, a row [d] of a Matrix

	// Init draws the initial parameters of a whole model, w [d]. Default: the Init of every parameter.
	Init func(rng *rand.Rand, w []float32) error

	// Forward maps parameters p (p[l] is [C, Params[l].Shape…]) and inputs x ([C, B, data shape…]) to outputs
	// ([C, B, Outputs of the data set…]: [C, B, classes] for labels; also [C, B] for a regression of one value). If the inputs are
	// the same for all clients, x has C = 1, or is repeated for a Forward that cannot take that: it then takes longer.
	Forward func(p []*graph.Node, x *graph.Node) *graph.Node
	// Loss is the loss of every example, [C, B], from outputs and labels or targets y, [C, B], or [C, B, t] if there are t > 1 for
	// each example (y may have C = 1 too). Default: cross entropy of the softmax for labels, half the squared error for real
	// targets, binary cross entropy for tags: see package loss.
	Loss func(out, y *graph.Node) *graph.Node
	// Accuracy is 1 for every example that is right and 0 for the others, [C, B]. Default: the largest output is the
	// label; for tags and for labels at positions, the share that is right; none for a regression, NaN.
	Accuracy func(out, y *graph.Node) *graph.Node

	// Train puts a model in training mode, if that takes a penalty, such as one on the weights. It is called in every local step before
	// Forward; after Forward, end leaves the mode and returns a penalty [C] that is added to a client's mean loss over the batch (nil:
	// none). A task with Train trains one client per program (C = 1). A task whose Forward wraps another task's should keep that task's
	// Train. Default: none.
	//
	// A model that only depends on its batch, draws random numbers or has running values needs none: Forward asks TrainingOf.
	Train func(t *Training) (end func() (penalty *graph.Node))
	// Features is the representation of inputs before the model's last layer, [C, B, f], for losses and clusterings that
	// use it. Default: none.
	Features func(p []*graph.Node, x *graph.Node) *graph.Node

	// Code lists functions that the others call without being named here, such as that of a model within this one: a study tells runs
	// of your own models apart by their code. Default: none.
	Code []any

	// Store is set for a GoMLX model function, and nil otherwise: its variables are the parameters. Such a task has no
	// client axis; each program trains one client.
	Store *mlmodel.Store

	asks, draws  bool // whether Forward calls TrainingOf, and draws random numbers then; set by Prepare
	leavesOutOne bool // see LeaveOutOne
}

// Param is one tensor of a model: a layer's weights or biases, or a running value.
type Param struct {
	Name  string                            // "dense1/weights"; options such as the layers of a head refer to it
	Shape []int                             // [in, out], [out], …
	Init  func(rng *rand.Rand, w []float32) // fills w; nil leaves zeros

	// Running declares a running value that is not trained: a running average, a counter. No gradient, optimizer, proximal term,
	// pull or shift moves it; Forward sets the value that follows a local step by Training.Set. A Job's Mask freezes it.
	//
	// It is part of the model's row [d]: sent, averaged and counted in drifts and distances like the other parameters. So all
	// clients share it, unless a strategy keeps its layer personal, as examples.Partial does. Server optimizers move it to the clients'
	// mean: see Round.ServerStep. Other strategies whose new models are not averages of the clients' refuse models with running values:
	// see Federation.AllTrained.
	Running bool

	// Frozen parameters are not trained: they stay at their initial values, up to the rounding of a server's means, and these are the
	// same in all models of Round.Models. A client receives them once, with its first model. They are not in any later traffic (see
	// Task.Bytes), not in updates and their norms, and interceptors do not see them.
	Frozen bool
}

// layer returns the name of the layer that the parameter belongs to: its own before the last slash.
func (p Param) layer() string { return p.Name[:max(strings.LastIndex(p.Name, "/"), 0)] }

// Size returns the number of values in the parameter.
func (p Param) Size() int {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	return n
}

// Dim returns d, the number of parameters of the model.
func (t *Task) Dim() int {
	d := 0
	for _, p := range t.Params {
		d += p.Size()
	}
	return d
}

// Mask returns 1 for every parameter of the named layers and 0 for the others, [d]. A name matches the parameter of that
// name and all below it: "dense2" matches "dense2/weights" and "dense2/biases". A name that matches nothing is an error.
func (t *Task) Mask(layers ...string) ([]float32, error) {
	mask := make([]float32, t.Dim())
	for _, layer := range layers {
		from, found := 0, false
		for _, p := range t.Params {
			if p.Name == layer || strings.HasPrefix(p.Name, layer+"/") {
				found = true
				for i := range p.Size() {
					mask[from+i] = 1
				}
			}
			from += p.Size()
		}
		if !found {
			names := make([]string, len(t.Params))
			for l, p := range t.Params {
				names[l] = p.Name
			}
			return nil, fault.Invalid("layer", fmt.Sprintf("%q", layer), "one of "+strings.Join(names, ", ")+", or the part of one before a slash")
		}
	}
	return mask, nil
}

// Layers returns the layers in the order of their first parameters: those that have the same name before the last slash are of one
// layer, as "dense1/weights" and "dense1/biases" are of "dense1". Frozen parameters are of none.
//
//	layers := r.Fed.Task.Layers()
//	norms, err := u.Delta().NormsBy(layers)           // ‖Δ_i‖ by client and layer, [n][len(layers)]
//	head := u.Models.Layers(layers[len(layers)-1])    // the parameters of the last, [n, size]
//	points, err := head.Points()                      // their distances, for a clusterer
func (t *Task) Layers() (layers []rows.Layer) {
	from := 0
	for _, p := range t.Params {
		name, to := cmp.Or(p.layer(), p.Name), from+p.Size()
		at := slices.IndexFunc(layers, func(l rows.Layer) bool { return l.Name == name })
		switch {
		case p.Frozen:
		case at < 0:
			layers = append(layers, rows.Layer{Name: name, Size: p.Size(), Ranges: [][2]int{{from, to}}})
		default:
			l := &layers[at]
			l.Size += p.Size()
			if last := &l.Ranges[len(l.Ranges)-1]; last[1] == from {
				last[1] = to
			} else {
				l.Ranges = append(l.Ranges, [2]int{from, to})
			}
		}
		from = to
	}
	return layers
}

func (t *Task) check() error {
	if t == nil || t.Forward == nil {
		return fault.Invalid("Task.Forward", "nil", "a graph function")
	}
	if len(t.Params) == 0 {
		return fault.Invalid("Task.Params", "[]", "at least one parameter")
	}
	for _, p := range t.Params {
		if p.Size() < 1 {
			return fault.Invalid("Task.Params["+p.Name+"].Shape", p.Shape, "positive")
		}
	}
	if t.trained() == 0 {
		return fault.Invalid("Task.Params", "all Frozen", "at least one that is trained")
	}
	return nil
}

// complete sets the defaults that depend on the data.
func (t *Task) complete(d *datasets.Dataset) {
	usual, right := loss.CrossEntropy, loss.Correct
	switch {
	case d.Tags:
		usual, right = loss.BinaryCrossEntropy, loss.CorrectTags
	case d.Classes == 0:
		usual, right = loss.SquaredError, func(out, y *graph.Node) *graph.Node {
			return graph.AddScalar(loss.SquaredError(out, y), math.NaN())
		}
	}
	if t.Loss == nil {
		t.Loss = usual
	}
	if t.Accuracy == nil {
		t.Accuracy = right
	}
}

// Start draws a model's initial parameters, [d].
func Start(t *Task, rng *rand.Rand) ([]float32, error) {
	w := make([]float32, t.Dim())
	if t.Init != nil {
		return w, t.Init(rng, w)
	}
	rest := w
	for _, p := range t.Params {
		n := p.Size()
		if p.Init != nil {
			p.Init(rng, rest[:n])
		}
		rest = rest[n:]
	}
	return w, nil
}

// ForEngine converts a task to the engine's.
func ForEngine(t *Task) engine.Task {
	e := engine.Task{Name: t.Name, Forward: t.Forward, Loss: t.Loss, Accuracy: t.Accuracy,
		Random: t.draws || t.Train != nil, Alone: t.Train != nil || t.Store != nil}
	e.Layer = func(name string, p []*graph.Node, x *graph.Node) *graph.Node { return Layer(t, name, p, x) }
	running := Running(t) != ""
	for _, p := range t.Params {
		e.Shapes = append(e.Shapes, p.Shape)
		if running {
			e.Running = append(e.Running, p.Running)
		}
	}
	if running || t.asks || t.Train != nil {
		e.Train = t.InTraining
	}
	if t.Store != nil {
		e.Variables = slices.Collect(t.Store.IterVariables()) // the parameters, and the state of a random generator
	}
	return e
}

// Split splits rows of models [n, d] into parameters, [n, shape…] each, in a Program.
func (t *Task) Split(rows *graph.Node) []*graph.Node {
	e := ForEngine(t)
	return e.Split(rows)
}

// Join is the inverse of Split.
func (t *Task) Join(p []*graph.Node) *graph.Node { return engine.Join(p) }

// String returns the name and the number of parameters.
func (t *Task) String() string { return fmt.Sprintf("%s, %d parameters", t.Name, t.Dim()) }

// FLOPs returns the floating-point operations of a forward pass per example: what one more example in a batch adds. A
// backward pass takes about twice as many, so training takes three times this number per example.
//
// Matrix products and convolutions of the task's graph count two operations per multiply-add; elementwise operations, which are
// negligible beside them, are left out. In model.LeNet, a convolution with pooling is a larger matrix product padded with
// zeros: 36 multiply-adds for every 25 of the convolution itself. The body of a loop counts once.
//
// Nothing is compiled. Errors: Forward fails, or there is no device.
func (t *Task) FLOPs(d *datasets.Dataset) (float64, error) {
	if d == nil || t.Forward == nil {
		return 0, fmt.Errorf("task %s: without data or Forward: %w", t.Name, fault.ErrInvalid)
	}
	e := ForEngine(t)
	one, err := e.Work(d, 1)
	two, also := e.Work(d, 2)
	if err = cmp.Or(err, also); err != nil {
		return 0, fmt.Errorf("task %s: %w", t.Name, err)
	}
	return two.Operations - one.Operations, nil
}

// Freeze returns a copy of the task in which layers are frozen, named as in Task.Mask; see Param.Frozen. Errors: no layer, a name
// that matches nothing, or nothing that is left to train.
func (t *Task) Freeze(layers ...string) (*Task, error) {
	mask, err := t.Mask(layers...)
	if err != nil {
		return nil, err
	}
	if len(layers) == 0 {
		return nil, fault.Invalid("layers", layers, "at least one")
	}
	frozen, at := *t, 0
	frozen.Params = slices.Clone(t.Params)
	for i := range frozen.Params {
		p := &frozen.Params[i]
		p.Frozen = p.Frozen || mask[at] != 0
		at += p.Size()
	}
	if frozen.trained() == 0 {
		return nil, fault.Invalid("layers", layers, "not all of them: one at least is trained")
	}
	frozen.Name += ", " + strings.Join(layers, "+") + " frozen"
	return &frozen, nil
}

// trained returns the number of parameters that are not frozen.
func (t *Task) trained() (n int) {
	for _, p := range t.Params {
		if !p.Frozen {
			n += p.Size()
		}
	}
	return n
}

// Bytes returns the size of a model in traffic: 4 bytes for each parameter that is not frozen.
func (t *Task) Bytes() int { return 4 * t.trained() }

// Thaw returns 1 for the parameters that are trained and 0 for frozen ones, [d]; nil if none is frozen.
func Thaw(t *Task) []float32 {
	if t.trained() == t.Dim() {
		return nil
	}
	return t.maskOf(func(p Param) bool { return !p.Frozen })
}

// maskOf returns 1 for the values of some parameters and 0 for the others, [d].
func (t *Task) maskOf(some func(p Param) bool) (mask []float32) {
	for _, p := range t.Params {
		v := float32(0)
		if some(p) {
			v = 1
		}
		mask = append(mask, slices.Repeat([]float32{v}, p.Size())...)
	}
	return mask
}

// Size is d as a float, which does not overflow.
func Size(t *Task) (d float64) {
	for _, p := range t.Params {
		n := 1.0
		for _, dim := range p.Shape {
			n *= float64(dim)
		}
		d += n
	}
	return d
}
