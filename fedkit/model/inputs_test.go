package model_test

import (
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

// A sum of dense layers, one for each input, is a dense layer on all of them: the outputs of a random model are those of an MLP.
func TestInputs(t *testing.T) {
	one := must.M1(datasets.GaussianMixture{Groups: 1, Clients: 2, Features: 6, Classes: 3, Rows: 20}.Make())
	two := *one
	two.Shape = []int{3, 2, 1}
	d := expect.Value(datasets.Join(one, &two))(t)
	split := func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.MLP()(d)
		task.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			in := model.Inputs(d, x)
			if want := append(slices.Clone(x.Shape().Dimensions[:2]), 3, 2, 1); !slices.Equal(in[1].Shape().Dimensions, want) {
				t.Errorf("the second input is %v, want %v", in[1].Shape(), want)
			}
			first, second := graph.SliceAxis(p[0], 1, graph.AxisRange(0, 6)), graph.SliceAxis(p[0], 1, graph.AxisRange(6, 12))
			return graph.Add(model.Dense(in[0], first, p[1]), model.Dense(model.Flatten(in[1]), second, graph.ZerosLike(p[1])))
		}
		return task, err
	}
	var outputs [][]float32
	for _, m := range []fedkit.Model{model.MLP(), split} {
		fed := expect.Value(fedkit.New(d, partition.Natural{}, m))(t)
		p := expect.Value(fed.Predict(t.Context(), must.M1(fed.Models(1, 1)), datasets.TestPart, nil))(t)
		outputs = append(outputs, slices.Concat(p[0].Outputs...))
	}
	for i, v := range outputs[0] {
		if apart := v - outputs[1][i]; !(apart*apart < 1e-10) {
			t.Fatalf("output %d is %v, want %v", i, outputs[1][i], v)
		}
	}
	if x := model.Inputs(one, nil); len(x) != 1 {
		t.Errorf("%d inputs of a data set with one", len(x))
	}
}
