package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
)

// FedProx limits client drift, and SCAFFOLD corrects it. Server optimizers work with both.
func ExampleSCAFFOLD() {
	fed, err := fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	local := fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}
	for _, s := range []fedkit.Strategy{
		&strategy.FedProx{Fraction: 0.5, Mu: 0.1, Adaptive: true, Local: local},
		&strategy.SCAFFOLD{Fraction: 0.5, Local: local, Server: server.SGD{LR: 0.9}},
	} {
		h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 20, EvalEvery: 20})
		if err != nil {
			panic(err)
		}
		fmt.Println(h.Name, h.Accuracy() > 0.85, "bytes up:", h.Last().BytesUp)
	}
	// Output:
	// FedProx true bytes up: 96400
	// SCAFFOLD true bytes up: 192800
}

// Every client has its own head: only the body travels.
func ExampleFedRep() {
	fed, err := fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: 1}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	s := &strategy.FedRep{Head: []string{"dense2"}, HeadEpochs: 2, Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}}
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 20, EvalEvery: 20})
	if err != nil {
		panic(err)
	}
	fmt.Println(h.Accuracy() > 0.9, "bytes up:", h.Last().BytesUp)
	// Output:
	// true bytes up: 166400
}
