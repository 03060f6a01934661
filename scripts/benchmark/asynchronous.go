package main

import (
	"context"
	"encoding/json"
	"os"
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
	fed = must.M1(fed.On(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.LogNormal{Median: 1e6, Sigma: 1}}))
	local := fedkit.Local{Batch: 20, LR: 0.1}
	runs := []struct {
		name string
		take int // results per round
		make func() fedkit.Strategy
	}{
		{"fedavg", 100, func() fedkit.Strategy { return &strategy.FedAvg{Fraction: 0.1, Local: local} }},
		{"fedbuff", 10, func() fedkit.Strategy { return &strategy.FedBuff{AtWork: 100, K: 10, Local: local} }},
		{"fedbuff_100", 100, func() fedkit.Strategy { return &strategy.FedBuff{AtWork: 100, K: 100, Local: local} }},
		{"fedasync", 1, func() fedkit.Strategy { return &strategy.FedAsync{AtWork: 100, Local: local} }},
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
	result := map[string]any{"peer": "fedkit", "task": "asynchronous"}
	for _, run := range runs {
		ratios := make([]float64, len(ms[run.name]))
		for i, v := range ms[run.name] {
			ratios[i] = v / ms["fedavg"][i]
		}
		slices.Sort(ratios)
		slices.Sort(ms[run.name])
		result[run.name+"_solve_ms"] = ms[run.name][len(ratios)/2]
		if run.name != "fedavg" {
			result[run.name+"_takes"] = ratios[len(ratios)/2]
		}
	}
	must.M(json.NewEncoder(os.Stdout).Encode(result))
}
