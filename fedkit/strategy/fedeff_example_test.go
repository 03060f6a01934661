package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// The four classes: epochs vary over clients, over rounds, over both, or not at all. Of two clients, the
// second computes three times as fast.
func ExampleFedEff() {
	fed, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 2, Seed: 1}, model.LogisticRegression())
	if err == nil {
		fed, err = fed.WithDevices(sim.Given{{PerExample: 0.03}, {PerExample: 0.01}})
	}
	if err != nil {
		panic(err)
	}
	local, fewer := fedkit.Local{Epochs: 6, Batch: fedkit.FullBatch, LR: 0.1}, fedkit.Decay{Gamma: 0.5}
	for _, class := range []struct {
		name string
		s    fedkit.Strategy
	}{
		{"EC", &strategy.FedEff{Equal: true, Local: local}},
		{"UEC", &strategy.FedEff{Local: local}},
		{"EIC", &strategy.FedEff{Equal: true, Schedule: fewer, Local: local}},
		{"UEIC", &strategy.FedEff{Schedule: fewer, Local: local}},
	} {
		h, err := fedkit.Run(context.Background(), fed, class.s, fedkit.Options{Rounds: 3})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-4s", class.name)
		for _, r := range h.Rounds {
			fmt.Print("  ", r.Results[0].Steps, " ", r.Results[1].Steps)
		}
		fmt.Printf("  epochs in %.0f s\n", h.Last().Clock)
	}
	// Output:
	// EC    6 6  6 6  6 6  epochs in 388 s
	// UEC   4 12  4 12  4 12  epochs in 259 s
	// EIC   6 6  3 3  1 1  epochs in 216 s
	// UEIC  4 12  2 6  1 3  epochs in 151 s
}
