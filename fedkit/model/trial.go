package model

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

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
