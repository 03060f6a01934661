package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// GoMLX turns a GoMLX model function, with its scopes, variables and layers, into a model. The function maps inputs x
// [B, data shape…] to outputs [B, Dataset.Outputs…], such as [B, classes] (or [B] for a regression of one value). Its trainable variables are the parameters, in the
// order in which it creates them and under their paths, "hidden/dense/weights". Their initializers are used.
//
// Clients train it in GoMLX's training mode, in which dropout is active; its random numbers depend on the seed, the round, the
// client and the step. Penalties that it adds, as layers.AddL2Regularization does, are minimized with the mean loss of the
// batch, but are not part of the losses reported. Evaluation has neither dropout nor penalties.
//
// Its other variables are running values (see fedkit.Param): what the function sets them to in training mode is what follows the
// step. Rows that only fill a batch must not count in it: see fedkit.TrainingOf, whose rows are B, and BatchNorm.In, which takes the
// place of norm.BatchNorm.
//
// Fails if the function panics, returns another shape, cannot be trained, draws random numbers in prediction, or has a
// convolution whose gradient GoMLX gets wrong.
//
// Such a function has no client axis, so that each program trains one client, a little slower than with the built-in
// models. Convolutions and their gradients are computed by oneDNN on a CPU, and pooling in a form that is fast there (scripts/bench.md).
func GoMLX(name string, fn func(scope *mlmodel.Scope, x *Node) *Node) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if fn == nil {
			return nil, fedkit.Invalid("model.GoMLX: fn", "nil", "a model function")
		}
		t, err := (&function{fn: fn, data: d}).task(name)
		if err != nil {
			return nil, fmt.Errorf("model.GoMLX: %s: %w", name, err)
		}
		return t, nil
	}
}

// function is a GoMLX model function for a data set.
type function struct {
	fn   func(*mlmodel.Scope, *Node) *Node
	data *datasets.Dataset

	mu     sync.Mutex // one call at a time: naming a variable writes to it
	store  *mlmodel.Store
	params []*mlmodel.Variable
	random *mlmodel.Variable // state of the store's random generator; nil if there is none

	training sync.Map // the penalties so far, *Node, by graph in training mode
}

func (f *function) task(name string) (t *fedkit.Task, err error) {
	if f.store, err = f.variables(1); err != nil {
		return nil, err
	}
	f.random = f.store.GetVariable(mlmodel.RNGStateVariableName)
	f.params = parameters(f.store)
	t = &fedkit.Task{Name: name, Store: f.store, Init: f.init, Forward: f.forward, Train: f.train, Code: []any{f.fn}}
	for _, v := range f.params {
		t.Params = append(t.Params, fedkit.Param{Name: layer(v), Shape: v.Shape().Dimensions, Running: !v.Trainable})
	}
	return t, f.check()
}

// layer is a variable's path without its leading slash.
func layer(v *mlmodel.Variable) string { return strings.TrimPrefix(v.Path(), mlmodel.ScopeSeparator) }

// parameters returns all variables but the state of the random generator, in the order in which they were created.
func parameters(s *mlmodel.Store) (vs []*mlmodel.Variable) {
	random := s.GetVariable(mlmodel.RNGStateVariableName)
	for v := range s.IterVariables() {
		if v != random {
			vs = append(vs, v)
		}
	}
	return vs
}

// variables makes the function's variables, with initial values drawn from the seed.
func (f *function) variables(seed int64) (s *mlmodel.Store, err error) {
	err = f.inGraph("variables", func(g *Graph) error {
		s = mlmodel.NewStore()
		s.SetParam(mlmodel.JoinPath(mlmodel.RootScopePath, mlmodel.ParamInitialSeed), seed)
		f.call(s, f.examples(g), true)
		return s.InitializeVariables(g.Backend(), nil)
	})
	return s, err
}

// inGraph builds a scratch graph. A panic is returned as an error.
func (f *function) inGraph(name string, build func(g *Graph) error) (err error) {
	defer xla.Caught(&err)
	b, err := xla.Backend()
	if err != nil {
		return err
	}
	g := NewGraph(b, name)
	defer g.Finalize()
	return build(g)
}

// trialBatch is the number of examples of a trial.
const trialBatch = 3

// examples is a parameter for the examples of a trial, [B, data shape…].
func (f *function) examples(g *Graph) *Node {
	return Parameter(g, "x", shapes.Make(dtypes.Float32, append([]int{trialBatch}, f.data.Shape...)...))
}

// call builds the function into x's graph. It returns the output and the sum of the penalties, a scalar, or nil. It panics
// if the output has the wrong shape, or if the function needs an update after every step.
func (f *function) call(s *mlmodel.Store, x *Node, training bool) (out, penalty *Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := x.Graph()
	mlmodel.SetStore(g, s)
	s.SetTraining(g, training)
	nothing := Reshape(Const(g, []float32{0})) // made in this call: a loop cannot use GoMLX's cached scalars from outside it
	for _, kind := range []string{train.TrainerMainLossGraphParamKey, train.TrainerRegularizationLossGraphParamKey} {
		mlmodel.SetGraphParam(g, mlmodel.JoinPath(train.TrainerAbsoluteScope, kind), nothing)
	}
	out = f.fn(s.RootScope(), x)
	for p := range s.IterGraphParams(g) {
		if p.Key == train.TrainerPerStepUpdateGraphFnParamKey {
			panic(fedkit.Invalid("update after every step in "+p.Scope, "registered", "none: regularizer.L2 and train.AddRegularizationLoss need none, regularizer.L1 does"))
		}
	}
	f.fits(out, x.Shape().Dimensions[0])
	if main, rest := train.GetMainLoss(g), train.GetRegularizationLoss(g); main != nothing || rest != nothing {
		penalty = Add(main, rest)
	}
	return out, penalty
}

// fits panics if the output for a number of examples has the wrong shape.
func (f *function) fits(out *Node, examples int) {
	want := shapes.Make(dtypes.Float32, append([]int{examples}, f.data.Outputs()...)...)
	switch {
	case out == nil:
		panic(fedkit.Invalid("output of the model function", "nil", want.String()))
	case f.data.Classes == 0 && f.data.Outputs()[0] == 1 && out.Shape().Equal(shapes.Make(dtypes.Float32, examples)):
	case !out.Shape().Equal(want):
		panic(fedkit.Invalid("output of the model function", out.Shape(), want.String()))
	}
}

// forward is Task.Forward.
func (f *function) forward(p []*Node, x *Node) *Node {
	values := f.set(p)
	before, training := f.training.Load(x.Graph())
	out, penalty := f.call(f.store, Squeeze(x, 0), training)
	if training && penalty != nil {
		if sum, _ := before.(*Node); sum != nil {
			penalty = Add(sum, penalty)
		}
		f.training.Store(x.Graph(), penalty)
	}
	for l, v := range f.params {
		if next := v.NodeValue(x); training && !v.Trainable && next != values[l] {
			fedkit.TrainingOf(x).Set(p[l], InsertAxes(next, 0))
		}
	}
	return InsertAxes(out, 0)
}

// train is Task.Train.
func (f *function) train(t *fedkit.Training) (end func() (penalty *Node)) {
	key := t.Key()
	g := key.Graph()
	f.training.Store(g, (*Node)(nil))
	if f.random != nil {
		f.random.SetNodeValue(Squeeze(key, 0))
	}
	return func() *Node {
		penalty, _ := f.training.LoadAndDelete(g)
		if sum := penalty.(*Node); sum != nil {
			return InsertAxes(sum, 0)
		}
		return nil
	}
}

// set gives the variables the values of p, and returns them without the client axis.
func (f *function) set(p []*Node) (values []*Node) {
	for l, v := range f.params {
		values = append(values, Squeeze(p[l], 0))
		v.SetNodeValue(values[l])
	}
	return values
}

// init is Task.Init.
func (f *function) init(rng *rand.Rand, w []float32) error {
	s, err := f.variables(1 + rng.Int64N(1<<62))
	if err != nil {
		return err
	}
	for _, v := range parameters(s) {
		value, err := xla.Host(v.MustValue())
		if err != nil {
			return err
		}
		w = w[copy(w, value):]
	}
	return nil
}

// check refuses a function that could not be trained or evaluated.
func (f *function) check() error {
	trained := 0
	for _, v := range f.params {
		if v.DType() != dtypes.Float32 {
			return fedkit.Invalid("variable "+layer(v), v.DType(), "float32")
		}
		if v.Trainable {
			trained++
		}
	}
	if trained == 0 {
		return fedkit.Invalid("trainable variables", 0, "at least 1")
	}
	return f.inGraph("predict", f.predicts)
}

// predicts builds the function as evaluation does.
func (f *function) predicts(g *Graph) error {
	known := f.store.NumVariables()
	x := f.examples(g)
	f.call(f.store, x, false)
	if err := shifted(g, x); err != nil {
		return err
	}
	if v := f.store.GetVariable(mlmodel.RNGStateVariableName); v != nil && v.InUseByGraph(g) {
		return fedkit.Invalid("random numbers while predicting", "drawn", "drawn only if scope.IsTraining")
	}
	for _, v := range slices.Collect(f.store.IterVariables())[known:] {
		return fedkit.Invalid("variable "+layer(v), "made while predicting only", "made while training")
	}
	return nil
}

// shifted refuses a convolution whose gradient would be wrong: GoMLX v0.28.1 shifts the gradient of its input by a pixel if the kernel
// has an even size. An input that depends on no variable, such as patches of x, needs no gradient.
func shifted(g *Graph, x *Node) error {
	learned := map[*Node]bool{}
	for _, n := range g.Nodes() { // in the order in which they were made
		learned[n] = n.Type() == NodeTypeParameter && n != x || slices.ContainsFunc(n.Inputs(), func(in *Node) bool { return learned[in] })
		kernel := xla.Kernel(n)
		if learned[n] && slices.ContainsFunc(kernel, func(k int) bool { return k%2 == 0 }) && learned[n.Inputs()[0]] {
			return fedkit.Invalid("kernel of a convolution behind other layers", kernel, "odd, since GoMLX's gradient is wrong for an even one; model.Convolution takes any")
		}
	}
	return nil
}
