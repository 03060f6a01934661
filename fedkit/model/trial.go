package model

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// check refuses a function that could not be trained or evaluated.
func (f *function) check(t *fedkit.Task) error {
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
	if err := f.inGraph("predict", f.predicts); err != nil {
		return err
	}
	return f.inGraph("train", func(g *Graph) error { return f.trains(g, t) })
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

// trains compiles a step of gradient descent in a loop, as clients are trained: not every graph operation works there.
func (f *function) trains(g *Graph, t *fedkit.Task) error {
	for v := range f.store.IterVariables() {
		v.NodeValue(g) // a variable first used inside the loop would become a parameter of its body
	}
	s := xla.NewLoop(g)
	s.Add("step", Parameter(g, "step", shapes.Make(dtypes.Int32)))
	s.Add("last", Parameter(g, "last", shapes.Make(dtypes.Int32)))
	s.Add("x", f.examples(g))
	s.Add("key", Parameter(g, "key", shapes.Make(dtypes.Uint64, 1, 3)))
	for l, v := range f.params {
		s.Add("w", Parameter(g, fmt.Sprint("w", l), shapes.Make(dtypes.Float32, append([]int{1}, v.Shape().Dimensions...)...)))
	}
	s.Run(func(s *xla.Loop) *Node { return LessThan(s.One("step"), s.One("last")) }, func(s *xla.Loop) {
		w := s.All("w")
		out, end := t.InTraining(s.One("key"), nil, w, InsertAxes(s.One("x"), 0))
		loss := ReduceAllSum(out)
		penalty, next := end()
		if penalty != nil {
			loss = Add(loss, Squeeze(penalty, 0))
		}
		var moves []*Node
		for l, v := range f.params {
			if v.Trainable {
				moves = append(moves, w[l])
			}
		}
		moves = Gradient(loss, moves...)
		for l, v := range f.params {
			if v.Trainable {
				next[l], moves = Sub(w[l], moves[0]), moves[1:]
			}
		}
		s.Set("w", next...)
		s.Set("step", AddScalar(s.One("step"), 1))
	})
	for p := range f.store.IterGraphParams(g) {
		if p.Key == train.TrainerPerStepUpdateGraphFnParamKey {
			return fedkit.Invalid("update after every step in "+p.Scope, "registered", "none: regularizer.L2 and train.AddRegularizationLoss need none, regularizer.L1 does")
		}
	}
	return g.Compile(s.Flat()...)
}
