package task

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Prepare sets the defaults that depend on the data, and refuses a task that cannot be trained on them. rng is used to look for
// dependencies between examples.
func Prepare(t *Task, d *datasets.Dataset, rng *rand.Rand) error {
	if err := t.fits(); err != nil {
		return err
	}
	usual := t.Loss == nil
	t.complete(d)
	if err := t.check(); err != nil {
		return err
	}
	if err := t.try(d, usual); err != nil {
		return err
	}
	return t.checkIndependence(d, rng)
}

// fits refuses a model whose initial parameters do not fit on host and device.
func (t *Task) fits() error {
	d := Size(t)
	return memory.Fits("model "+t.Name, fmt.Sprintf("%.0f parameters", d), d, 2*4*d, "its first values on the host and on the device")
}

// TrialBatch is the number of examples per client in the graphs that Prepare builds, for trialClients clients.
const TrialBatch, trialClients = 3, 2

// try builds a task's graphs without compiling them, in a few milliseconds, so that mistakes are found before anything runs. usual
// means the default loss. The task of a GoMLX model function has no client axis, and is skipped.
func (t *Task) try(d *datasets.Dataset, usual bool) error {
	if _, err := xla.Backend(); err != nil || t.Store != nil {
		return nil // Run reports a missing device
	}
	err := t.tryWith(d, trialClients, usual) // examples of each client
	if err == nil && t.tryWith(d, 1, usual) != nil {
		t.Code = append(slices.Clip(t.Code), t.Forward, t.Features)
		t.Forward, t.Features = repeating(t.Forward), repeating(t.Features)
		err = t.tryWith(d, 1, usual) // the same for all clients
	}
	if err != nil {
		return fmt.Errorf("task %s: %w", t.Name, err)
	}
	return nil
}

// repeating gives each client its copy of examples that are the same for all, as Einsum("cbi,cio->cbo", x, w) needs them.
func repeating(f func(p []*graph.Node, x *graph.Node) *graph.Node) func(p []*graph.Node, x *graph.Node) *graph.Node {
	if f == nil {
		return nil
	}
	return func(p []*graph.Node, x *graph.Node) *graph.Node {
		if d, clients := x.Shape().Dimensions, p[0].Shape().Dimensions[0]; d[0] == 1 && clients > 1 {
			x = graph.BroadcastToDims(x, append([]int{clients}, d[1:]...)...)
		}
		return f(p, x)
	}
}

// tryWith builds the graphs for a number of sets of examples: one per client, or one for all.
func (t *Task) tryWith(d *datasets.Dataset, sets int, usual bool) error {
	e, stage := ForEngine(t), ""
	err := xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		p, x, y, key := e.Inputs(in)
		stage = "Task.Forward"
		out := t.Forward(p, x)
		if shape := d.Outputs(); usual && (d.Classes > 0 || shape[0] > 1) {
			mustBe(out, shape...)
		} else if out == nil || usual && out.Rank() != 3 {
			mustBe(out)
		}
		stage = "Task.Accuracy"
		accuracy := t.Accuracy(out, y)
		mustBe(accuracy)
		stage = "Task.Loss"
		loss := t.Loss(out, y)
		mustBe(loss)
		if sets > 1 {
			stage = "Task.Loss"
			graph.Gradient(graph.ReduceAllSum(loss), p...)
			if t.Train == nil {
				stage = "Task.Forward in training mode"
				now, out, _ := t.training(key, nil, p, x)
				t.asks, t.draws = now.asked, now.drawn > 0
				mustBe(t.Loss(out, y))
			}
		}
		return []*graph.Node{loss, accuracy}
	}).Build(e.Arguments(d, trialClients, sets, TrialBatch)...)
	return fault.Within(stage, err)
}

// mustBe panics, as GoMLX does while a graph is built, unless n has shape [trialClients, TrialBatch, last…].
func mustBe(n *graph.Node, last ...int) {
	want := shapes.Make(dtypes.Float32, append([]int{trialClients, TrialBatch}, last...)...)
	allowed := fmt.Sprintf("%v for %d clients with %d examples each", want, trialClients, TrialBatch)
	if n == nil {
		panic(fault.Invalid("", "a function that returns nil", allowed))
	}
	if !n.Shape().Equal(want) {
		panic(fault.Invalid("", n.Shape(), allowed))
	}
}

// checkIndependence refuses a model whose output for an example depends on other examples in evaluation or, in training, on rows that
// only fill a batch.
func (t *Task) checkIndependence(d *datasets.Dataset, rng *rand.Rand) error {
	w, err := t.sample(rng)
	if err != nil {
		return nil // Run reports it
	}
	e := ForEngine(t)
	what, from := e.Mixing(d, t.Features, w)
	if what == "" {
		return nil
	}
	return fault.Invalid(fmt.Sprintf("model %s: %s", t.Name, what), "a result that depends on "+from,
		"computed for each example alone or, in training, from those that Training.Used counts, since rows that do not count fill up batches; "+
			"instead of batch normalization or a mean over the batch, use model.BatchNorm, or layer or group normalization of each example, such as norm.LayerNorm")
}

// sample returns initial parameters with every 0 replaced by a random value: zeros would hide dependencies between examples.
func (t *Task) sample(rng *rand.Rand) (w []float32, err error) {
	if t.Store == nil {
		w, err = Start(t, rng)
	} else {
		w, err = t.stored() // drawing new ones would compile the initializers
	}
	for i := range w {
		if w[i] == 0 {
			w[i] = float32(0.05 * rng.NormFloat64())
		}
	}
	return w, err
}

// stored returns the parameters in the store of a GoMLX model function.
func (t *Task) stored() ([]float32, error) {
	w := make([]float32, t.Dim())
	rest := w
	for v := range t.Store.IterVariables() {
		if !slices.ContainsFunc(t.Params, func(p Param) bool { return "/"+p.Name == v.Path() }) {
			continue // the state of a random generator
		}
		values, err := xla.Host(v.MustValue())
		if err != nil {
			return nil, err
		}
		rest = rest[copy(rest, values):]
	}
	return w, nil
}
