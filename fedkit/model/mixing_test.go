package model_test

import (
	"cmp"
	"context"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
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

// A model that mixes the rows of a batch would also mix in its padding: the first training or evaluation refuses it, by name.
func TestModelsThatMixExamplesAreRefused(t *testing.T) {
	const others, clients = "an example's loss = a result that depends on the other examples of its batch", "an example's loss = a result that depends on the examples of other clients"
	const step = "a client's training step = a result that depends on rows that only fill its batch, or on other clients"
	around := func(m fedkit.Model, f func(x *graph.Node) *graph.Node) fedkit.Model {
		return func(d *datasets.Dataset) (*fedkit.Task, error) {
			t, err := m(d)
			inside := t.Forward
			t.Name, t.Forward = "named", func(p []*graph.Node, x *graph.Node) *graph.Node { return f(inside(p, x)) }
			return t, err
		}
	}
	forward := func(f func(x *graph.Node) *graph.Node) fedkit.Model { return around(model.LogisticRegression(), f) }
	alone := func(out *graph.Node) *graph.Node {
		return graph.Sub(out, graph.ReduceAndKeep(out, graph.ReduceMean, 1))
	}
	for name, c := range map[string]struct {
		model            fedkit.Model
		train, evaluated string // the errors; zeros, of which a regression starts, show nothing
	}{
		"centered": {between(func(_ *mlmodel.Scope, x *graph.Node) *graph.Node {
			return graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, 0))
		}), step, others},
		"norm.BatchNorm": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return norm.BatchNorm(s, x, -1).Done() }), step, ""},
		"in training only": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			if s.IsTraining(x.Graph()) {
				x = normalized(x, 0)
			}
			return layers.DropoutStatic(s, x, 0.5)
		}), step, ""},
		"in evaluation only": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			if s.IsTraining(x.Graph()) {
				return x
			}
			return normalized(x, 0)
		}), others, others},
		"activity penalty": {between(func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			train.AddRegularizationLoss(graph.ReduceAllMean(graph.Square(x)))
			return x
		}), step, ""},
		"all outputs": {forward(alone), step, ""},
		"tokens":      {around(model.GRU(7, 3, 4), alone), step, others},
		"one row before": {forward(func(out *graph.Node) *graph.Node {
			return graph.Add(out, graph.Concatenate([]*graph.Node{graph.ZerosLike(graph.SliceAxis(out, 1, graph.AxisRange(0, 1))), graph.SliceAxis(out, 1, graph.AxisRange(0, -1))}, 1))
		}), others, ""},
		"clients": {forward(func(out *graph.Node) *graph.Node {
			return graph.Add(out, graph.ReduceAndKeep(graph.Square(out), graph.ReduceSum, 0))
		}), step, ""},
		"loss": {changed(func(t *fedkit.Task) {
			t.Loss = func(out, y *graph.Node) *graph.Node {
				loss := loss.CrossEntropy(out, y)
				return graph.BroadcastToDims(graph.ReduceAndKeep(loss, graph.ReduceMean, 1), loss.Shape().Dimensions...)
			}
		}), step, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := datasets.Digits()
			if name == "tokens" {
				d = sequences(400, 5, 7)
			}
			fed := federation(t, d, partition.IID{Clients: 5}, c.model)
			for want, s := range map[string]fedkit.Strategy{c.train: &strategy.FedAvg{}, c.evaluated: served{}} {
				for range 2 { // it is not forgotten
					_, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1})
					if want = cmp.Or(want, "none"); want != "none" || err != nil {
						expect.Error(t, "round 1: ", ": invalid: model named: "+want+": must be computed for each example alone")(err)
					}
				}
			}
		})
	}
}

// served serves each client a model of its own, and trains none.
type served struct{ State struct{} }

func (served) Start(*fedkit.Round) error { return nil }
func (served) Round(*fedkit.Round) error { return nil }
func (served) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: r.Models(r.Clients()), Assign: r.AllClients()}
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
		t.Run(name, func(t *testing.T) {
			fed := digits(t, m)
			run(t, fed, served{}, fedkit.Options{Rounds: 1})
			if name != "infinite" && name != "not a number" {
				run(t, fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 1})
			}
		})
	}
}
