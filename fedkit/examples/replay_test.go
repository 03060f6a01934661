package examples_test

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
)

// tiny is an MLP with three hidden units, whose activations are its features.
func tiny(d *datasets.Dataset) (*fedkit.Task, error) {
	t, err := model.MLP(3)(d)
	if err != nil {
		return nil, err
	}
	t.Features = func(p []*graph.Node, x *graph.Node) *graph.Node {
		return model.ReLU(model.Dense(model.Flatten(x), p[0], p[1]))
	}
	return t, nil
}
