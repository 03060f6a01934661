package fedtest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/norm"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

// flawed is logistic regression with something wrong.
func flawed(change func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node)) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.LogisticRegression()(d)
		change(t, t.Forward)
		return t, err
	}
}

// Models of every kind pass; each flaw is found by the test that is meant for it.
func TestModels(t *testing.T) {
	expect.Long(t, "one model after the other")
	dropout := func(s *mlmodel.Scope, x *Node) *Node {
		x = model.BatchNorm{}.In(s, layers.Dense(s.In("1"), Reshape(x, x.Shape().Dim(0), -1), true, 16))
		return layers.Dense(s.In("2"), layers.DropoutStatic(s, model.ReLU(x), 0.1), true, 10)
	}
	for name, m := range map[string]fedkit.Model{
		"MLP": model.MLP(8), "batch normalization": model.BatchNormMLP(8), "GoMLX": model.GoMLX("dropout", dropout),
	} {
		t.Run(name, func(t *testing.T) { expect.OK(t, fedtest.TestModel(m)) })
	}
	line := must.M1(datasets.LeastSquares{Clients: 3, Rows: 10, Features: 4}.Make())
	expect.OK(t, fedtest.TestModel(model.LinearRegression(), line))
	for want, change := range map[string]func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node){
		"clients: fedkit: train: invalid: model logistic: a client's training step = a result that depends on rows that only fill": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Forward = func(p []*Node, x *Node) *Node { return forward(p, Sub(x, ReduceAndKeep(x, ReduceMean, 1))) }
		},
		"evaluation: output 0 of an example is": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Forward = func(p []*Node, x *Node) *Node { return MulScalar(OnePlus(forward(p, x)), float64(p[0].Shape().Dim(0))) }
		},
		"gradients: client 0 returns another model when it is trained": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Forward = func(p []*Node, x *Node) *Node { return DivScalar(OnePlus(forward(p, x)), float64(x.Shape().Dim(1))) }
		},
		"gradients: client 0 returns another model when it is trained by the gradients of single examples": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Forward = func(p []*Node, x *Node) *Node {
				if t := fedkit.TrainingOf(x); t != nil {
					used := BroadcastToDims(Reshape(t.Used(), x.Shape().Dim(0), -1, 1, 1, 1), x.Shape().Dimensions...)
					x = Sub(x, Div(ReduceAndKeep(Mul(x, used), ReduceSum, 1), ReduceAndKeep(used, ReduceSum, 1)))
				}
				return forward(p, x)
			}
		},
		"clients: client 3 returns another model when it trains alone": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Params[1].Running = true
			t.Forward = func(p []*Node, x *Node) *Node {
				if t := fedkit.TrainingOf(x); t != nil {
					t.Set(p[1], AddScalar(p[1], float64(p[1].Shape().Dim(0))))
				}
				return forward(p, x)
			}
		},
		"clients: fedkit: train: invalid: model logistic: a client's training step": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Params[1].Running = true
			t.Forward = func(p []*Node, x *Node) *Node {
				if t := fedkit.TrainingOf(x); t != nil {
					second := Mul(ReduceSum(model.Flatten(x), 2), OneMinus(t.Used()))
					t.Set(p[1], BroadcastToDims(Slice(second, AxisRange(), AxisRange(1, 2)), p[1].Shape().Dimensions...))
				}
				return forward(p, x)
			}
		},
		"bytes: the bytes differ with 1 workers": func(t *fedkit.Task, _ func(p []*Node, x *Node) *Node) {
			t.Init = func(_ *rand.Rand, w []float32) error { w[0] = rand.Float32(); return nil }
		},
		"learns: no rate lowers the loss": func(t *fedkit.Task, forward func(p []*Node, x *Node) *Node) {
			t.Forward = func(p []*Node, x *Node) *Node { return forward([]*Node{StopGradient(p[0]), StopGradient(p[1])}, x) }
		},
	} {
		t.Run(want, func(t *testing.T) { expect.Error(t, want)(fedtest.TestModel(flawed(change))) })
	}
}

// Batch normalization passes; one that counts the rows that only fill a batch does not.
func ExampleTestModel() {
	fmt.Println(fedtest.TestModel(model.BatchNormMLP(8)))
	err := fedtest.TestModel(model.GoMLX("GoMLX's own", func(s *mlmodel.Scope, x *Node) *Node {
		return layers.Dense(s, norm.BatchNorm(s, Reshape(x, x.Shape().Dim(0), -1), -1).Done(), true, 10)
	}))
	what, _, _ := strings.Cut(err.Error(), ": must be")
	fmt.Println(what)
	// Output:
	// <nil>
	// GoMLX's own: fedtest: fedkit.Model: clients: fedkit: train: invalid: model GoMLX's own: a client's training step = a result that depends on rows that only fill its batch, or on other clients
}
