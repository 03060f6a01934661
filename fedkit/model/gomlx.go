package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	mlmodel "github.com/gomlx/gomlx/ml/model"

	"fedkit.example/fedkit/internal/xla"
)

// GoMLX turns a GoMLX model function, with its scopes, variables and layers, into a model. The function maps inputs x
// [B, data shape…] to outputs [B, classes] (or [B] for a regression). Its variables start as their initializers say.
// Variables that are not trained (running means, random state) cannot be averaged and are refused.
//
// Such a function knows nothing of the client axis, so clients are trained one per program, a little slower than with
// the built-in models.
func GoMLX(name string, fn func(scope *mlmodel.Scope, x *Node) *Node) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if fn == nil {
			return nil, fedkit.Invalid("model.GoMLX: fn", "nil", "a model function")
		}
		store, err := variables(fn, d, 1)
		if err != nil {
			return nil, fmt.Errorf("model.GoMLX: %s: %w", name, err)
		}
		t := &fedkit.Task{Name: name, Store: store}
		for _, v := range trained(store) {
			if v.DType() != dtypes.Float32 {
				return nil, fedkit.Invalid("model.GoMLX: variable "+v.Path(), v.DType(), "float32")
			}
			t.Params = append(t.Params, fedkit.Param{Name: v.Path(), Shape: v.Shape().Dimensions})
		}
		for v := range store.IterVariables() {
			if !v.Trainable && !strings.HasSuffix(v.Path(), mlmodel.RNGStateVariableName) {
				return nil, fedkit.Invalid("model.GoMLX: variable "+v.Path(), "not trainable", "trainable: others cannot be averaged")
			}
		}
		t.Init = func(rng *rand.Rand, w []float32) error {
			s, err := variables(fn, d, 1+rng.Int64N(1<<62))
			if err != nil {
				return err
			}
			for _, v := range trained(s) {
				value, err := xla.Host(v.MustValue())
				if err != nil {
					return err
				}
				w = w[copy(w, value):]
			}
			return nil
		}
		t.Forward = func(p []*Node, x *Node) *Node {
			g := x.Graph()
			for l, v := range trained(store) {
				before := v.NodeValue(g)
				v.SetNodeValue(Reshape(p[l], v.Shape().Dimensions...))
				defer v.SetNodeValue(before)
			}
			out := fn(store.RootScope().ResetVisited(), Reshape(x, x.Shape().Dimensions[1:]...))
			return InsertAxes(out, 0)
		}
		return t, nil
	}
}

// trained returns the trainable variables in the order of their paths.
func trained(s *mlmodel.Store) (vs []*mlmodel.Variable) {
	for v := range s.IterVariables() {
		if v.Trainable {
			vs = append(vs, v)
		}
	}
	slices.SortFunc(vs, func(a, b *mlmodel.Variable) int { return strings.Compare(a.Path(), b.Path()) })
	return vs
}

// variables runs the model function once on an empty example, which creates its variables with their initial values.
func variables(fn func(*mlmodel.Scope, *Node) *Node, d *datasets.Dataset, seed int64) (s *mlmodel.Store, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%v", p)
		}
	}()
	b, err := xla.Backend()
	if err != nil {
		return nil, err
	}
	s = mlmodel.NewStore()
	s.SetParam(mlmodel.JoinPath(mlmodel.RootScopePath, mlmodel.ParamInitialSeed), seed)
	exec, err := mlmodel.NewExec(b, s, fn)
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	shape := shapes.Make(dtypes.Float32, append([]int{1}, d.Shape...)...)
	out, err := exec.Call(tensors.FromShape(shape))
	if err != nil {
		return nil, err
	}
	want := max(1, d.Classes)
	if got := out[0].Shape(); got.Dimensions[0] != 1 || got.Size() != want {
		return nil, fedkit.Invalid("output of the model function", got, fmt.Sprintf("[B, %d]", want))
	}
	return s, nil
}
