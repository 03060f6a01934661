package model_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

// The sizes of an MLP are those of its hidden layers. Inputs and outputs follow from the data: 64 pixels, 10 digits.
func ExampleMLP() {
	for _, m := range []fedkit.Model{model.MLP(), model.MLP(32), model.MLP(64, 32)} {
		fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, m))
		fmt.Println(fed.Task.Name, "has", fed.Task.Dim(), "parameters")
	}
	// Output:
	// MLP has 650 parameters
	// MLP-32 has 2410 parameters
	// MLP-64-32 has 6570 parameters
}

// Any GoMLX model function can be trained by every strategy.
func ExampleGoMLX() {
	twoLayers := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node { // x [B, 8, 8, 1]
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = activation.Relu(layers.Dense(scope.In("hidden"), x, true, 32))
		return layers.Dense(scope.In("output"), x, true, 10) // [B, 10]
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.GoMLX("two layers", twoLayers)))
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.3}}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 10}))
	fmt.Println(fed.Task.Name, fed.Task.Dim(), "parameters, learns:", h.Accuracy() > 0.9)
	// Output: two layers 2410 parameters, learns: true
}

// A model that does not fit the data is refused before anything runs.
func ExampleLeNet() {
	_, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.LeNet())
	fmt.Println("8 × 8 pixels are too few:", err != nil)
	// Output: 8 × 8 pixels are too few: true
}
