// Package loss has the losses and accuracies of tasks as GoMLX graph functions, one value per example, with a client axis. They are
// the defaults of fedkit.Task, and the start of losses of your own. Outputs and targets may be the same for all clients, with C = 1.
package loss

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// CrossEntropy is −log softmax(out)[y] for every example: out [C, B, classes], y [C, B] labels; result [C, B]. With a label at each
// of t positions, out [C, B, t, classes] and y [C, B, t], it is the mean over the example's positions whose label is not negative; 0
// if there are none.
func CrossEntropy(out, y *graph.Node) *graph.Node {
	dims := out.Shape().Dimensions
	classes := graph.Iota(out.Graph(), shapes.Make(y.DType(), dims...), -1)
	own := graph.Equal(classes, graph.BroadcastToDims(graph.InsertAxes(y, -1), dims...)) // none of a negative label
	out = graph.Sub(out, graph.StopGradient(graph.ReduceAndKeep(out, graph.ReduceMax, -1)))
	loss := graph.Sub(graph.Log(graph.ReduceSum(graph.Exp(out), -1)), graph.ReduceSum(graph.Where(own, out, graph.ZerosLike(out)), -1))
	if len(dims) == 4 {
		return overPositions(loss, y)
	}
	return loss
}

// SquaredError is ½ Σ_j (out_j − y_j)² for every example: out and y [C, B, t]; with a single target y [C, B], and out [C, B] or
// [C, B, 1]; result [C, B].
func SquaredError(out, y *graph.Node) *graph.Node {
	if out.Rank() == 3 && y.Rank() == 2 {
		out = graph.Squeeze(out, -1)
	}
	square := graph.Square(graph.Sub(out, y))
	if y.Rank() == 3 {
		square = graph.ReduceSum(square, -1)
	}
	return graph.MulScalar(square, 0.5)
}

// BinaryCrossEntropy is the mean over an example's tags y_j, 0 or 1, of −log σ(out_j) for 1 and −log(1 − σ(out_j)) for 0, with the
// logistic function σ: shapes as in SquaredError. It does not overflow.
func BinaryCrossEntropy(out, y *graph.Node) *graph.Node {
	out, y = tags(out, y)
	// As a softmax of two: max(x, 0) − xy + log(1 + exp(−|x|)) has the same values, but GoMLX's slopes of its parts at 0 are not those
	// of the whole, and models start there.
	logs := graph.LogSoftmax(graph.Stack([]*graph.Node{out, graph.ZerosLike(out)}, -1), -1)
	own := graph.Mul(graph.Stack([]*graph.Node{y, graph.OneMinus(y)}, -1), logs)
	return graph.Neg(graph.ReduceMean(graph.ReduceSum(own, -1), -1))
}

// Correct is 1 if the largest output is the label, else 0: out [C, B, classes], y [C, B]; result [C, B]. With labels at positions, as in
// CrossEntropy, it is the share of an example's positions whose label is not negative and whose largest output it is.
func Correct(out, y *graph.Node) *graph.Node {
	best := graph.ArgMax(out, -1, y.DType())
	same := y
	if best.Shape().Dimensions[0] != y.Shape().Dimensions[0] {
		same = graph.BroadcastToDims(y, best.Shape().Dimensions...)
	}
	right := graph.ConvertDType(graph.Equal(best, same), out.DType())
	if out.Rank() == 4 {
		return overPositions(right, y)
	}
	return right
}

// CorrectTags is the share of an example's tags that are predicted: 1 by a positive output, 0 by any other. Shapes are as in
// SquaredError.
func CorrectTags(out, y *graph.Node) *graph.Node {
	out, y = tags(out, y)
	predicted := graph.ConvertDType(graph.GreaterThan(out, graph.ZerosLike(out)), out.DType())
	return graph.OneMinus(graph.ReduceMean(graph.Abs(graph.Sub(predicted, y)), -1))
}

// tags adds the last axis that a single tag may lack.
func tags(out, y *graph.Node) (*graph.Node, *graph.Node) {
	if y.Rank() == 2 {
		y = graph.InsertAxes(y, -1)
	}
	if out.Rank() == 2 {
		out = graph.InsertAxes(out, -1)
	}
	return out, y
}

// overPositions is the mean of values [C, B, t] over the positions of an example that have a label, 0 if there are none.
func overPositions(values, y *graph.Node) *graph.Node {
	used := graph.ConvertDType(graph.GreaterOrEqual(y, graph.ZerosLike(y)), dtypes.Float32) // [C or 1, B, t]
	return graph.Div(graph.ReduceSum(graph.Mul(values, used), -1), graph.MaxScalar(graph.ReduceSum(used, -1), 1))
}
