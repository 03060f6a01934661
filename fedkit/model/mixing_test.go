package model_test

import (
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/norm"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// between is a GoMLX model function of two dense layers with something between them.
func between(f func(s *mlmodel.Scope, x *graph.Node) *graph.Node) fedkit.Model {
	return model.GoMLX("named", func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
		x = layers.Dense(s.In("dense1"), graph.Reshape(x, x.Shape().Dim(0), -1), true, 16)
		return layers.Dense(s.In("dense2"), f(s.In("between"), x), true, 10)
	})
}

// normalized is x with mean 0 and variance 1 along an axis.
func normalized(x *graph.Node, axis int) *graph.Node {
	x = graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, axis))
	return graph.Div(x, graph.Sqrt(graph.AddScalar(graph.ReduceAndKeep(graph.Square(x), graph.ReduceMean, axis), 1e-5)))
}

// changed is logistic regression with something else instead of one of its functions.
func changed(change func(t *fedkit.Task)) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.LogisticRegression()(d)
		t.Name, t.Loss, t.Accuracy = "named", loss.CrossEntropy, loss.Correct
		change(t)
		return t, err
	}
}

// A model that mixes the rows of a batch would also mix in its padding: it is refused when the federation is made.
func TestModelsThatMixExamplesAreRefused(t *testing.T) {
	others, clients, number := "depends on the other examples of its batch", "depends on the examples of other clients", "depends on the number of examples in its batch"
	forward := func(f func(x *graph.Node) *graph.Node) fedkit.Model {
		return changed(func(t *fedkit.Task) {
			inside := t.Forward
			t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node { return f(inside(p, x)) }
		})
	}
	for name, c := range map[string]struct {
		model fedkit.Model
		what  string
		from  string
	}{
		"centered": {between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node {
			return graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, 0))
		}), "Task.Forward", others},
		"batch normalization": {between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node { return normalized(x, 0) }), "Task.Forward", others},
		"norm.BatchNorm":      {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return norm.BatchNorm(s, x, -1).Done() }), "Task.Forward in training mode", others},
		"in training only": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			if s.IsTraining(x.Graph()) {
				x = normalized(x, 0)
			}
			return layers.DropoutStatic(s, x, 0.5)
		}), "Task.Forward in training mode", others},
		"activity penalty": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			train.AddRegularizationLoss(graph.ReduceAllMean(graph.Square(x)))
			return x
		}), "the penalty of Task.Train", others},
		"all outputs": {forward(func(out *graph.Node) *graph.Node {
			return graph.Sub(out, graph.ReduceAndKeep(out, graph.ReduceMean, 1))
		}), "Task.Forward", others},
		"clients": {forward(func(out *graph.Node) *graph.Node {
			return graph.Add(out, graph.ReduceAndKeep(graph.Square(out), graph.ReduceSum, 0))
		}), "Task.Forward", clients},
		"size": {forward(func(out *graph.Node) *graph.Node { return graph.DivScalar(out, float64(out.Shape().Dim(1))) }), "Task.Forward", number},
		"loss": {changed(func(t *fedkit.Task) {
			t.Loss = func(out, y *graph.Node) *graph.Node {
				loss := loss.CrossEntropy(out, y)
				return graph.BroadcastToDims(graph.ReduceAndKeep(loss, graph.ReduceMean, 1), loss.Shape().Dimensions...)
			}
		}), "Task.Loss", others},
		"by an operation that only the device has": {forward(func(out *graph.Node) *graph.Node {
			zero := graph.Const(out.Graph(), int32(0))
			mean := graph.ReduceAndKeep(graph.StopGradient(out), graph.ReduceMean, 1)
			return graph.Sub(out, graph.DynamicSlice(mean, slices.Repeat([]*graph.Node{zero}, 3), mean.Shape().Dimensions))
		}), "Task.Forward", others},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, datasets.Digits(), c.model, "model named: "+c.what+" = a result that "+c.from)
		})
	}
}

// Anything that looks at one example at a time is not mixing.
func TestModelsThatTreatExamplesAloneAreAccepted(t *testing.T) {
	for name, m := range map[string]fedkit.Model{
		"layer normalization": between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return norm.LayerNorm(s, x, -1).Done() }),
		"group normalization": between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node {
			d := x.Shape().Dimensions
			return graph.Reshape(normalized(graph.Reshape(x, d[0], 4, -1), 2), d...)
		}),
		"dropout":                            between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return layers.DropoutStatic(s, x, 0.5) }),
		"infinite":                           between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node { return graph.Exp(graph.MulScalar(x, 1e4)) }),
		"batch normalization":                model.BatchNormMLP(16),
		"batch normalization of what counts": between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return model.BatchNorm{}.In(s, x) }),
		"penalty of what counts": between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			if t := fedkit.TrainingOf(x); t != nil {
				train.AddRegularizationLoss(graph.ReduceAllSum(graph.Mul(graph.ReduceMean(graph.Square(x), 1), graph.Squeeze(t.Used(), 0))))
			}
			return x
		}),
		"frozen statistics": between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			return norm.BatchNorm(s, x, -1).FrozenAverages(true).Done()
		}),
		"not a number": between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node { return graph.Log(x) }),
		"convolution": model.GoMLX("convolution", func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			x = layers.Convolution(s.In("conv"), x).Channels(4).KernelSize(3).PadSame().Done()
			x = graph.MaxPool(norm.LayerNorm(s, x, -1).Done()).Window(2).Done()
			return layers.Dense(s.In("dense"), graph.Reshape(x, x.Shape().Dim(0), -1), true, 10)
		}),
	} {
		t.Run(name, func(t *testing.T) { digits(t, m) })
	}
}
