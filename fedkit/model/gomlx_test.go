package model_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/layers/regularizer"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// twoLayers is a GoMLX model function for digits: a body and a head, which comes first by name. Between them is dropout.
func twoLayers(rate float64) func(*mlmodel.Scope, *graph.Node) *graph.Node {
	return func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = activation.Relu(layers.Dense(scope.In("features"), x, true, 32))
		x = layers.DropoutStatic(scope, x, rate)
		return layers.Dense(scope.In("classifier"), x, true, 10)
	}
}

func digits(t *testing.T, m fedkit.Model) *fedkit.Federation {
	return federation(t, datasets.Digits(), partition.IID{Clients: 5}, m)
}

// A GoMLX model function with scopes, variables and layers trains, and does what model.MLP does from the same
// parameters: they are in the same order.
func TestGoMLXModelFunction(t *testing.T) {
	fed := digits(t, model.GoMLX("two layers", twoLayers(0)))
	var names []string
	for _, p := range fed.Task.Params {
		names = append(names, p.Name)
	}
	want := []string{"features/dense/weights", "features/dense/biases", "classifier/dense/weights", "classifier/dense/biases"}
	expect.That(t, slices.Equal(names, want), "parameters %q, want %q", names, want)
	s := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.3}}
	h := run(t, fed, s, fedkit.Options{Rounds: 10, Seed: 4})
	expect.That(t, h.Accuracy() >= 0.93, "accuracy %v after 10 rounds, want at least 0.93", h.Accuracy())
	ready := digits(t, func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.MLP(32)(d)
		task.Init = fed.Task.Init
		return task, err
	})
	other := run(t, ready, s, fedkit.Options{Rounds: 10, Seed: 4})
	for i := range h.Rounds {
		if a, b := float64(h.Rounds[i].Global.Loss), float64(other.Rounds[i].Global.Loss); math.Abs(a-b) > 1e-4 {
			t.Fatalf("round %d: loss %v with the model function, %v with model.MLP", i+1, a, b)
		}
	}
}

// The last layer that a function creates is FedRep's head, and can be named without a slash.
func TestGoMLXHead(t *testing.T) {
	fed := digits(t, model.GoMLX("two layers", twoLayers(0)))
	head := expect.Value(fed.Task.Mask("classifier"))(t)
	body := 64*32 + 32
	i := slices.Index(head, 1)
	expect.That(t, i == body && !slices.Contains(head[body:], 0), "the mask of the last layer begins at %d, want %d", i, body)
	s := &strategy.FedRep{Local: fedkit.Local{Batch: 16, LR: 0.3}}
	run(t, fed, s, fedkit.Options{Rounds: 2})
	d := fed.Task.Dim()
	x, w := host(t, s.State.X), host(t, s.State.W)
	expect.That(t, !slices.Equal(w[:d][body:], w[d : 2*d][body:]) && !slices.Equal(w[:d][body:], x[body:]),
		"FedRep gave two clients the same head")
}

// training is a strategy whose round is a function.
type training struct{ each func(r *fedkit.Round) }

func (s training) Start(*fedkit.Round) error          { return nil }
func (s training) Round(r *fedkit.Round) error        { s.each(r); return r.Err() }
func (training) Serve(r *fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: r.Models(1)} }

// With λ‖w‖², a step ends η·2λw lower. The reported losses are without the penalty.
func TestGoMLXRegularization(t *testing.T) {
	const rate, lambda = 0.1, 0.25
	step := func(lambda float64) (start, after []float32, loss fedkit.Float) {
		fed := digits(t, model.GoMLX("regularized", func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
			scope.SetParam(regularizer.ParamL2, lambda)
			return layers.Dense(scope, graph.Reshape(x, x.Shape().Dimensions[0], -1), true, 10)
		}))
		h := run(t, fed, training{func(r *fedkit.Round) {
			x := r.Models(1)
			u := r.Train(fedkit.Job{Clients: []int{0}, Start: x, Local: fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: rate}})
			start, after = host(t, x), host(t, u.Models)
		}}, fedkit.Options{Rounds: 1})
		return start, after, h.Last().Results[0].Loss
	}
	start, want, loss := step(0)
	_, got, regularized := step(lambda)
	for i := range 640 { // the weights; biases have no penalty
		want[i] -= float32(rate * 2 * lambda * float64(start[i]))
	}
	close32(t, "parameters", got, want, 1e-6)
	expect.That(t, loss == regularized, "training loss %v without a penalty, %v with it", loss, regularized)
}

func TestGoMLXRefusals(t *testing.T) {
	expect.Long(t, "refusals, one after the other")
	patches := func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
		return layers.Convolution(s, x).Channels(2).KernelSize(2).Strides(2).NoPadding().Done()
	}
	dense := func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
		return layers.Dense(s.In("d"), graph.Reshape(x, x.Shape().Dimensions[0], -1), true, 3)
	}
	for want, fn := range map[string]func(*mlmodel.Scope, *graph.Node) *graph.Node{
		"fn = nil": nil,
		"output of the model function = nil: must be (Float32)[3, 3]":              func(*mlmodel.Scope, *graph.Node) *graph.Node { return nil },
		"output of the model function = (Float32)[3, 64]: must be (Float32)[3, 3]": func(_ *mlmodel.Scope, x *graph.Node) *graph.Node { return graph.Reshape(x, x.Shape().Dim(0), -1) },
		"output of the model function = (Float64)[3, 3]":                           func(s *mlmodel.Scope, x *graph.Node) *graph.Node { return graph.ConvertDType(dense(s, x), dtypes.F64) },
		"trainable variables = 0": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			return graph.Slice(graph.Reshape(x, x.Shape().Dim(0), -1), graph.AxisRange(), graph.AxisRange(0, 3))
		},
		"variable half = Float16: must be float32": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			s.VariableWithShape("half", shapes.Make(dtypes.Float16, 3))
			return dense(s, x)
		},
		"random numbers while predicting = drawn": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			return dense(s, graph.Add(x, s.RandomNormal(x.Graph(), x.Shape())))
		},
		"variable late = made while predicting only": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			if !s.IsTraining(x.Graph()) {
				s.VariableWithValue("late", float32(1))
			}
			return dense(s, x)
		},
		"update after every step in /d/dense/regularizers.L1(weights) = registered": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			s.SetParam(regularizer.ParamL1, 0.1)
			return dense(s, x)
		},
		"kernel of a convolution behind other layers = [2 2]: must be odd": func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
			return dense(s, patches(s.In("two"), patches(s.In("one"), x)))
		},
	} {
		_, err := fedkit.New(classes(4, 8, 1, 3), partition.IID{Clients: 1}, model.GoMLX("named", fn))
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && strings.Contains(err.Error(), want) && (fn == nil || strings.HasPrefix(err.Error(), "model.GoMLX: named: ")),
			"error %v, want %s", err, want)
	}
	oneClient(t, classes(4, 8, 1, 3), model.GoMLX("patches", func(s *mlmodel.Scope, x *graph.Node) *graph.Node {
		return dense(s, patches(s, x)) // the gradient of its input is not needed
	}))
	_, err := fedkit.New(classes(4, 8, 1, 3), partition.IID{Clients: 1}, model.GoMLX("panics", func(_ *mlmodel.Scope, x *graph.Node) *graph.Node {
		return graph.Reshape(x, 7, 7, 7)
	}))
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), "model.GoMLX: panics: "), "error %v from a model function that panics", err)
}

// A task made of another, with a Forward around its Forward, trains as it predicts, and still in training mode.
func TestGoMLXInsideAnotherTask(t *testing.T) {
	inside := model.GoMLX("two layers", twoLayers(0.5))
	step := func(m fedkit.Model) []float32 {
		var after []float32
		run(t, digits(t, m), training{func(r *fedkit.Round) {
			start := fedkit.Zeros(1, r.Fed.Task.Dim()).Not().Scale(0.01)
			after = host(t, r.Train(fedkit.Job{Clients: []int{0}, Start: start, Local: fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 1}}).Delta())
		}}, fedkit.Options{Rounds: 1})
		return after
	}
	plain := step(inside)
	wrapped := step(func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := inside(d)
		if err != nil {
			return nil, err
		}
		c, n := *t, len(t.Params)
		c.Params = append(slices.Clone(t.Params), fedkit.Param{Name: "offset", Shape: []int{10}})
		c.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			return graph.Add(t.Forward(p[:n], x), graph.InsertAxes(p[n], 1))
		}
		return &c, nil
	})
	close32(t, "the parameters inside", wrapped[:len(plain)], plain, 1e-6)
	expect.That(t, slices.ContainsFunc(wrapped[len(plain):], func(v float32) bool { return v != 0 }),
		"the offset around the model did not train")
}

// sparse is MLP(32) with dropout in front of its last layer.
func sparse(rate float64) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.MLP(32)(d)
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			hidden := model.ReLU(model.Dense(model.Flatten(x), p[0], p[1]))
			return model.Dense(model.Dropout(hidden, rate), p[2], p[3])
		}
		return t, err
	}
}

// masked is the model w·dropout(1), with two masks one after the other: see drawsAnew.
func masked(n int, rate float64) fedkit.Model {
	return func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{Name: "mask", Params: []fedkit.Param{{Name: "w", Shape: []int{2, n}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			x = graph.Stack([]*graph.Node{model.Dropout(x, rate), model.Dropout(x, rate)}, 2) // [C, B, 2, n]
			return graph.ReduceSum(graph.Mul(x, graph.InsertAxes(p[0], 1)), 2, 3)
		}}, nil
	}
}

// Dropout, ours and GoMLX's, is active in training only, and draws again for each client, call, round and step. Which clients train beside
// one changes nothing, and the same seed gives the same. The model w·dropout(1) shows the mask that a step draws: ∇w is −1/½ times it for
// w = 0 and the target 1.
func TestDropout(t *testing.T) {
	const n = 64
	dropoutInTraining(t, digits(t, sparse(0.5)), digits(t, sparse(0)))
	dropoutInTraining(t, digits(t, model.GoMLX("dropout", twoLayers(0.5))), digits(t, model.GoMLX("none", twoLayers(0))))
	data, rule := ones(2, n)
	drawsAnew(t, 2*n, federation(t, data, rule, masked(n, 0.5)))
	drawsAnew(t, n, federation(t, data, rule, model.GoMLX("mask", func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		w := scope.VariableWithValue("w", make([]float32, n)).NodeValue(x.Graph())
		return graph.ReduceSum(graph.Mul(layers.DropoutStatic(scope, x, 0.5), graph.InsertAxes(w, 0)), -1)
	})))
}

// The numbers that stay are 1/(1−rate) times what they were, a share of 1−rate. Each layer has a mask of its own, and so has each client,
// alone or beside others, and each example, also if its gradient is clipped.
func TestMasksOfDropout(t *testing.T) {
	const n, clients, rate = 4097, 3, 0.3
	data, rule := ones(2*clients, n)
	given := slices.Clone(rule.(partition.Given))[:clients]
	for i := range given {
		given[i].Train = []int{2 * i, 2*i + 1}
	}
	fed := federation(t, data, given, masked(n, rate))
	job := fedkit.Job{Clients: []int{0, 1, 2}, Local: fedkit.Local{Steps: 1, Batch: 2, LR: 1}, Start: fedkit.Zeros(1, 2*n)}
	train := func() []float32 { return host(t, expect.Value(fed.Train(t.Context(), job, 1))(t).Models) }
	together := train()
	job.Local.ClipExamples = 1e6
	clipped := train()
	job.Local.ClipExamples, job.Clients = 0, []int{1}
	close32(t, "client 1 alone", train(), together[2*n:4*n], 1e-6)
	for name, w := range map[string][]float32{"plain": together, "clipped": clipped} {
		kept := map[string]int{} // by how many of the two examples have the number
		for i, v := range w {    // −∇w is the mean over the examples of what stayed
			k := math.Round(float64(v) * 2 * (1 - rate))
			expect.Must(t, math.Abs(float64(v)-k/(2*(1-rate))) <= 1e-6, "%s: number %d is %v, want 0, 1 or 2 times %v", name, i, v, 0.5/(1-rate))
			kept[fmt.Sprint(i/n, " ", k)]++
		}
		for block := range 2 * clients {
			for k, share := range []float64{rate * rate, 2 * rate * (1 - rate), (1 - rate) * (1 - rate)} {
				got := float64(kept[fmt.Sprint(block, " ", k)]) / n
				expect.That(t, math.Abs(got-share) <= 4*math.Sqrt(share*(1-share)/n),
					"%s: client %d, mask %d: %d of two examples keep a number at a share of %v, want %v", name, block/2, block%2, k, got, share)
			}
			if name == "plain" {
				for other := range block {
					a, b, both := w[block*n:(block+1)*n], w[other*n:(other+1)*n], 0.0
					for i := range a {
						both += (float64(a[i]) - 1) * (float64(b[i]) - 1) / n
					}
					expect.That(t, math.Abs(both) <= 4*(rate/(1-rate)/2)/math.Sqrt(n), "masks %d and %d have a covariance of %v", block, other, both)
				}
			}
		}
	}
}

func dropoutInTraining(t *testing.T, with, without *fedkit.Federation) {
	t.Helper()
	still := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 1e-30}}
	a, b := run(t, with, still, fedkit.Options{Rounds: 1}).Last(), run(t, without, still, fedkit.Options{Rounds: 1}).Last()
	expect.That(t, a.Global.Loss == b.Global.Loss, "evaluation: loss %v with dropout, %v without", a.Global.Loss, b.Global.Loss)
	expect.That(t, math.Abs(float64(a.Results[0].Loss-b.Results[0].Loss)) >= 1e-3,
		"training: loss %v with dropout, %v without", a.Results[0].Loss, b.Results[0].Loss)
	s := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.3}}
	run(t, with, s, fedkit.Options{Rounds: 3, Concurrency: 1})
	one := host(t, s.State.X)
	run(t, with, s, fedkit.Options{Rounds: 3, Concurrency: 4})
	expect.That(t, slices.Equal(one, host(t, s.State.X)), "another number of workers gave another model")
}

// ones is a regression in which every value and every target is 1.
func ones(clients, features int) (*datasets.Dataset, partition.Rule) {
	d := &datasets.Dataset{Name: "ones", Shape: []int{features}}
	var rule partition.Given
	for i := range clients {
		rule = append(rule, partition.Client{Train: []int{i}, Test: []int{i}})
	}
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		s.Floats, s.Targets = slices.Repeat([]float32{1}, clients*features), slices.Repeat([]float32{1}, clients)
	}
	return d, rule
}

func drawsAnew(t *testing.T, n int, fed *fedkit.Federation) {
	t.Helper()
	masks := map[string]string{}
	add := func(name string, w []float32) {
		var mask strings.Builder
		for _, v := range w {
			mask.WriteByte("01"[min(1, int(v*1e6))])
		}
		k := strings.Count(mask.String(), "1")
		expect.That(t, k >= n/4 && k <= 3*n/4, "%s: dropout at rate 0.5 kept %d of %d", name, k, n)
		if other, known := masks[mask.String()]; known {
			t.Errorf("%s has the mask of %s", name, other)
		}
		masks[mask.String()] = name
	}
	run(t, fed, training{func(r *fedkit.Round) {
		job := fedkit.Job{Clients: []int{0, 1}, Local: fedkit.Local{Steps: 1, Batch: 1, LR: 1e-4}, Start: fedkit.Zeros(1, n)}
		first := r.Train(job)
		one := host(t, first.Models)
		add("client 0", one[:n])
		add("client 1", one[n:])
		add("call 2", host(t, r.Train(job).Models)[:n])
		job.ReuseBatches, job.Local.Steps = 1, 2
		two := host(t, r.Train(job).Models.Sub(first.Models))
		add("step 2", two[:n])
	}}, fedkit.Options{Rounds: 2})
	expect.That(t, len(masks) == 8, "%d different masks of 8", len(masks))
}

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
