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

// While the loss falls, the number of averaged clients decreases.
func ExampleAdaptiveClustering() {
	fed, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 8, Seed: 1}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	s := &strategy.AdaptiveClustering{SAProb: fedkit.Zero, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 4, EvalEvery: 4})
	if err != nil {
		panic(err)
	}
	for _, r := range h.Rounds {
		fmt.Println("p:", r.Notes["p"], "d:", r.Notes["d"])
	}
	// Output:
	// p: 8 d: 1
	// p: 7 d: 2
	// p: 5 d: 3
	// p: 2 d: 4
}
