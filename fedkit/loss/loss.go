// Package loss has the losses and accuracies of tasks as GoMLX graph functions, one value per example, with a client axis. They are
// the defaults of fedkit.Task, and the start of losses of your own.
package loss

import "github.com/gomlx/gomlx/core/graph"

// CrossEntropy is −log softmax(out)[y] for every example: out [C, B, classes], y [C, B] labels; result [C, B].
func CrossEntropy(out, y *graph.Node) *graph.Node {
	dims := out.Shape().Dimensions
	label := graph.OneHot(y, dims[2], out.DType())
	if y.Shape().Dimensions[0] != dims[0] { // the same examples for all models
		label = graph.BroadcastToDims(label, dims...)
	}
	return graph.Neg(graph.ReduceSum(graph.Mul(label, graph.LogSoftmax(out, -1)), -1))
}

// SquaredError is ½(out − y)² for every example: out [C, B] (or [C, B, 1]), y [C, B] targets; result [C, B].
func SquaredError(out, y *graph.Node) *graph.Node {
	if out.Rank() == 3 {
		out = graph.Squeeze(out, -1)
	}
	return graph.MulScalar(graph.Square(graph.Sub(out, y)), 0.5)
}

// Correct is 1 if the largest output is the label, else 0: out [C, B, classes], y [C, B]; result [C, B].
func Correct(out, y *graph.Node) *graph.Node {
	best := graph.ArgMax(out, -1, y.DType())
	if best.Shape().Dimensions[0] != y.Shape().Dimensions[0] {
		y = graph.BroadcastToDims(y, best.Shape().Dimensions...)
	}
	return graph.ConvertDType(graph.Equal(best, y), out.DType())
}
