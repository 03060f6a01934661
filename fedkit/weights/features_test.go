package weights_test

import (
	"context"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/weights"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"
)

// Training a layer on features that were computed once is training the whole network with the others frozen: the same losses.
func TestFeaturesAreFrozenLayers(t *testing.T) {
	ctx, rule := context.Background(), partition.Dirichlet{Clients: 6, Alpha: 0.5, Seed: 1}
	body := func(d *datasets.Dataset) (*fedkit.Task, error) { // an MLP whose last layer starts at 0, as logistic regression does
		made, err := model.MLP(16)(d)
		if err == nil {
			made.Params[2].Init = nil
		}
		return made, err
	}
	frozen := expect.Value(fedkit.New(datasets.Digits(), rule, model.Freeze(body, "dense1")))(t)
	avg := &strategy.FedAvg{Local: fedkit.Local{Steps: 5, Batch: fedkit.FullBatch, LR: 0.1}}
	a := expect.Value(fedkit.Run(ctx, frozen, avg, fedkit.Options{Rounds: 4}))(t)
	data := expect.Value(weights.Features(ctx, frozen, avg.X, ""))(t)
	head := expect.Value(fedkit.New(data, partition.Natural{}, model.LogisticRegression()))(t)
	n := data.Train.Len() + data.Test.Len()
	expect.That(t, head.Size() == frozen.Size() && data.Shape[0] == 16 && n == 1797, "%d clients, %d features, %d examples", head.Size(), data.Shape[0], n)
	for i, c := range head.Clients {
		expect.That(t, len(c.Train) == len(frozen.Clients[i].Train), "client %d has %d training examples, had %d", i, len(c.Train), len(frozen.Clients[i].Train))
	}
	b := expect.Value(fedkit.Run(ctx, head, &strategy.FedAvg{Local: avg.Local}, fedkit.Options{Rounds: 4}))(t)
	for i := range a.Rounds {
		x, y := float64(a.Rounds[i].Mean().Loss), float64(b.Rounds[i].Mean().Loss)
		expect.That(t, scalar.EqualWithinRel(x, y, 1e-5), "round %d: loss %v with frozen layers, %v on features", i+1, x, y)
	}
}

// What has no features, or more than a label for each example, is refused.
func TestFeaturesRefuse(t *testing.T) {
	ctx := context.Background()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.MLP(8)))(t)
	zeros := func(f *fedkit.Federation) *fedkit.Matrix {
		return fedkit.NewMatrix(make([]float32, f.Task.Dim()), 1, f.Task.Dim())
	}
	expect.Error(t, `layer = "conv1": must be one of dense1, dense2`)(weights.Features(ctx, fed, zeros(fed), "conv1"))

	tokens := &datasets.Dataset{Name: "tokens", Shape: []int{3}, Classes: 5}
	tokens.Train = datasets.Split{Bytes: []uint8{0, 1, 2, 3, 4, 0}, Scale: 1, Labels: []int32{1, 2, 3, 4, 0, -1}, Width: 3}
	tokens.Test = tokens.Train
	each := expect.Value(fedkit.New(tokens, partition.IID{Clients: 1}, func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{Name: "each", Params: []fedkit.Param{{Name: "w/weights", Shape: []int{1, 5}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			return fedkit.NameLayer("w", graph.Mul(graph.InsertAxes(x, -1), graph.InsertAxes(p[0], 1)))
		}}, nil
	}))(t)
	expect.Error(t, "data = tokens: must be one with a label or targets for each example")(weights.Features(ctx, each, zeros(each), "w"))
}
