package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// Starting from one cluster, FedAC finds the four rotations of the clients' digits.
func ExampleFedAC() {
	fed, err := fedkit.New(datasets.Digits(), partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}}, model.LogisticRegression())
	if err != nil {
		panic(err)
	}
	s := &strategy.FedAC{K: 1, Local: fedkit.Local{Epochs: 4, Batch: 16, LR: 0.1}}
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 3, EvalEvery: 3})
	if err != nil {
		panic(err)
	}
	fmt.Println(h.Rounds[0].Notes["clusters before"], "cluster became", h.Last().Notes["clusters after"])
	fmt.Println(cluster.Renumber(h.Last().Clusters))
	// Output:
	// 1 cluster became 4
	// [0 0 0 0 0 1 1 1 1 1 2 2 2 2 2 3 3 3 3 3]
}
