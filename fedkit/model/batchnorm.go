package model

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/task"
	. "github.com/gomlx/gomlx/core/graph"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// BatchNorm is batch normalization (Ioffe and Szegedy, arXiv 1502.03167) of every channel, with its own statistics for each client:
//
//	y = scale ⊙ (x − m)/√(v + ε) + offset,
//	mean ← (1−c) mean + c m,  variance ← (1−c) variance + c v n/(n−1)    after each local step.
//
// In training, m and v are the mean and the variance of the n values of a channel in the batch, of examples only: rows that fill a
// batch do not count. In evaluation they are mean and variance, running values that are shared or personal with their layer: see
// fedkit.Param. As in PyTorch, n−1 instead of n makes the running variance unbiased.
//
// A batch of a single value, as a batch of one row has without pixels, has no variance. PyTorch refuses it. Here, m and v are then mean
// and variance, as in evaluation, which stay what they are. A run that has such batches says so.
type BatchNorm struct {
	Momentum float64 `range:"(0,1]" default:"0.1"`    // c, weight of a new batch, as in PyTorch; Keras has 0.01
	Epsilon  float64 `range:"(0,inf)" default:"1e-5"` // ε
}

// Params returns the four parameters of a layer, [channels] each: "bn1/scale", "bn1/offset", "bn1/mean", "bn1/variance".
func (BatchNorm) Params(name string, channels int) []fedkit.Param {
	shape := []int{channels}
	return []fedkit.Param{
		{Name: name + "/scale", Shape: shape, Init: ones}, {Name: name + "/offset", Shape: shape},
		{Name: name + "/mean", Shape: shape, Running: true}, {Name: name + "/variance", Shape: shape, Init: ones, Running: true},
	}
}

// Of normalizes x [C, B, …, channels] in the Forward of a task, with the layer's parameters as Forward gets them, [C, channels] each.
func (n BatchNorm) Of(x, scale, offset, mean, variance *Node) *Node {
	t := fedkit.TrainingOf(x)
	y, nextMean, nextVariance := n.normalized(t, x, scale, offset, mean, variance)
	if t != nil {
		t.Set(mean, nextMean)
		t.Set(variance, nextVariance)
	}
	return y
}

// In normalizes x [B, …, channels] in a GoMLX model function, in place of norm.BatchNorm, which counts rows that fill a batch.
// Its variables are in the scope "batch_normalization".
func (n BatchNorm) In(scope *mlmodel.Scope, x *Node) *Node {
	scope, t := scope.In("batch_normalization"), fedkit.TrainingOf(x)
	var variables []*mlmodel.Variable
	var p []*Node
	for _, param := range n.Params("", x.Shape().Dim(-1)) {
		values := make([]float32, param.Size())
		if param.Init != nil {
			param.Init(nil, values)
		}
		v := scope.VariableWithValue(param.Name[1:], values).SetTrainable(!param.Running)
		variables, p = append(variables, v), append(p, InsertAxes(v.NodeValue(x), 0))
	}
	y, mean, variance := n.normalized(t, InsertAxes(x, 0), p[0], p[1], p[2], p[3])
	if t != nil {
		variables[2].SetNodeValue(Squeeze(mean, 0))
		variables[3].SetNodeValue(Squeeze(variance, 0))
	}
	return Squeeze(y, 0)
}

// normalized returns y and, in training, the next running values.
func (n BatchNorm) normalized(t *fedkit.Training, x, scale, offset, mean, variance *Node) (y, nextMean, nextVariance *Node) {
	if err := fedkit.Check(n, nil, 0); err != nil {
		panic(err)
	}
	n = fedkit.Defaults(n)
	d := x.Shape().Dimensions
	wide := func(v *Node, dims ...int) *Node { // [C, …] → [C, …, 1, …], with the rank of x
		return Reshape(v, append(append(dims, slices.Repeat([]int{1}, len(d)-len(dims)-1)...), v.Shape().Dim(-1))...)
	}
	channels := func(v *Node) *Node { return wide(v, v.Shape().Dim(0)) } // [C, channels]
	m, v := mean, MaxScalar(variance, 0)                                 // noise on the way to the server may have made it negative
	if t != nil {
		used := Reshape(t.Used(), append([]int{d[0], d[1]}, slices.Repeat([]int{1}, len(d)-2)...)...)
		others := make([]int, len(d)-2) // the axes of a channel's values in a batch
		pixels := 1
		for i := range others {
			others[i] = i + 1
			if i > 0 {
				pixels *= d[i+1]
			}
		}
		count := MulScalar(ReduceSum(t.Used(), 1), float64(pixels)) // [C]
		per := func(sum, n *Node) *Node { return Div(sum, InsertAxes(MaxScalar(n, 1), -1)) }
		m = per(ReduceSum(Mul(x, used), others...), count)
		squares := ReduceSum(Mul(Square(Sub(x, channels(m))), used), others...)
		v = per(squares, count)
		running := func(was, now *Node) *Node { return Add(MulScalar(was, 1-n.Momentum), MulScalar(now, n.Momentum)) }
		nextMean, nextVariance = running(mean, m), running(variance, per(squares, AddScalar(count, -1)))
		if pixels == 1 { // a batch may have a single value
			task.LeaveOutOne(t)
			several := BroadcastToDims(InsertAxes(GreaterThan(count, OnesLike(count)), -1), mean.Shape().Dimensions...)
			m, v = Where(several, m, mean), Where(several, v, MaxScalar(variance, 0))
			nextMean, nextVariance = Where(several, nextMean, mean), Where(several, nextVariance, variance)
		}
	}
	factor := Div(channels(scale), Sqrt(AddScalar(channels(v), n.Epsilon)))
	return Add(Mul(Sub(x, channels(m)), factor), channels(offset)), nextMean, nextVariance
}

// BatchNormMLP is MLP with batch normalization of each hidden layer before its ReLU: "dense1", "bn1", ….
func BatchNormMLP(hidden ...int) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t := &fedkit.Task{Name: "BN-MLP"}
		in := d.Features()
		for l, out := range hidden {
			if out < 1 {
				return nil, fedkit.Invalid("model.BatchNormMLP: hidden", out, "at least 1")
			}
			t.Name += fmt.Sprintf("-%d", out)
			t.Params = append(append(t.Params, denseParams(fmt.Sprintf("dense%d", l+1), in, out)...), BatchNorm{}.Params(fmt.Sprintf("bn%d", l+1), out)...)
			in = out
		}
		t.Params = append(t.Params, denseParams(fmt.Sprintf("dense%d", len(hidden)+1), in, max(1, d.Classes))...)
		return lastDense(t, func(p []*Node, x *Node) *Node {
			x = Flatten(x)
			for ; len(p) > 0; p = p[6:] {
				x = ReLU(BatchNorm{}.Of(Dense(x, p[0], p[1]), p[2], p[3], p[4], p[5]))
			}
			return x
		}), nil
	}
}
