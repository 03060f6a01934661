package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// The clients do the same work, but the model is updated five times per round.
func ExampleFedCluster() {
	fed, err := fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	local := fedkit.Local{Epochs: 1, Batch: 16, LR: 0.05}
	var loss []fedkit.Float
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: local}, &strategy.FedCluster{K: 5, Local: local}} {
		h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 5, EvalEvery: 5})
		if err != nil {
			panic(err)
		}
		loss = append(loss, h.Last().Global.Loss)
		fmt.Println(h.Name, "bytes up:", h.Last().BytesUp)
	}
	fmt.Println(loss[1] < loss[0])
	// Output:
	// FedAvg bytes up: 192800
	// FedCluster bytes up: 192800
	// true
}

// Each client holds examples of two labels. The server finds clients with the same labels from label shares alone.
func ExampleFedSC() {
	fed, err := fedkit.New(datasets.Digits(), partition.Classes{Clients: 10, PerClient: 2, Seed: 1}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	s := &strategy.FedSC{K: 5, Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}}
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 2, EvalEvery: 2})
	if err != nil {
		panic(err)
	}
	fmt.Println("clusters:", h.Last().Clusters)
	fmt.Println("bytes up:", h.Rounds[0].BytesUp, "then", h.Rounds[1].BytesUp)
	// Output:
	// clusters: [0 0 1 2 3 3 4 1 2 0]
	// bytes up: 97680 then 96400
}
