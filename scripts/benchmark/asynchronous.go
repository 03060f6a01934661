package main

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// asynchronous times local solves of 1,000 clients × 60 with 100 at work, of synchronous and asynchronous strategies in turn.
func asynchronous() {
	const solves = 2000 // per run
	fed := must.M1(fedkit.New(must.M1(datasets.MNIST()), partition.IID{Clients: 1000}, model.MLP(128, 64)))
	fed = must.M1(fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.LogNormal{Median: 1e6, Sigma: 1}}))
	local := fedkit.Local{Batch: 20, LR: 0.1}
	runs := []struct {
		name string
		take int // results per round
		make func() fedkit.Strategy
	}{
		{"FedAvg, 100 per round", 100, func() fedkit.Strategy { return &strategy.FedAvg{Fraction: 0.1, Local: local} }},
		{"FedAvg, 10 per round", 10, func() fedkit.Strategy { return &strategy.FedAvg{Fraction: 0.01, Local: local} }},
		{"FedBuff, K = 10", 10, func() fedkit.Strategy { return &strategy.FedBuff{Concurrency: 100, K: 10, Local: local} }},
		{"FedBuff, K = 100", 100, func() fedkit.Strategy { return &strategy.FedBuff{Concurrency: 100, K: 100, Local: local} }},
		{"FedAsync", 1, func() fedkit.Strategy { return &strategy.FedAsync{Concurrency: 100, Local: local} }},
	}
	ms := map[string][]float64{}
	for turn := range 8 {
		for _, run := range runs {
			rounds, all := solves/run.take, 0.0
			h := must.M1(fedkit.Run(context.Background(), fed, run.make(), fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
			for _, r := range h.Rounds {
				all += 1000 * r.Seconds
			}
			if turn > 0 { // the first compiles
				ms[run.name] = append(ms[run.name], all/solves)
			}
		}
	}
	for _, run := range runs {
		ratios := make([]float64, len(ms[run.name]))
		for i, v := range ms[run.name] {
			ratios[i] = v / ms["FedAvg, 100 per round"][i]
		}
		slices.Sort(ratios)
		slices.Sort(ms[run.name])
		n := len(ratios)
		fmt.Printf("%-22s %.2f ms per solve, %.2f × FedAvg's (quartiles %.2f, %.2f)\n", run.name, ms[run.name][n/2], ratios[n/2], ratios[n/4], ratios[(3*n)/4])
	}
}
