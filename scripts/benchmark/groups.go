package main

import (
	"context"
	"fmt"

	"github.com/janpfeifer/must"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/strategy"
)

// findGroups asks which algorithms find the four groups of Rotated MNIST within 15 rounds: 40 clients with 50 images each, a
// network with 200 hidden units, ten full-batch steps per round. Deals, starts and groupings differ from seed to seed.
func findGroups() {
	local := fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.1}
	algorithms := []struct {
		name string
		make func() fedkit.Strategy
	}{
		{"FedAvg", func() fedkit.Strategy { return &strategy.FedAvg{Local: local} }},
		{"LocalOnly", func() fedkit.Strategy { return &strategy.LocalOnly{Local: local} }},
		{"IFCA", func() fedkit.Strategy { return &strategy.IFCA{K: 4, Local: local} }},
		{"FedClust", func() fedkit.Strategy { return &strategy.FedClust{K: 4, Local: local} }},
		{"FedAC, K = 4, fixed", func() fedkit.Strategy { return &strategy.FedAC{K: 4, Fixed: true, Local: local} }},
		{"FedAC, tuned from K = 2", func() fedkit.Strategy { return &strategy.FedAC{Local: local} }},
		{"Fed-PRISM, hard, α = 0, centered", func() fedkit.Strategy {
			return &strategy.FedPRISM{K: 4, M: 1, Alpha: fedkit.Zero, Center: true, Local: local}
		}},
		{"CFL, ε 0.35 and 0.75", func() fedkit.Strategy { return &strategy.CFL{Eps1: 0.35, Eps2: 0.75, Local: local} }},
		{"LCFL", func() fedkit.Strategy { return &strategy.LCFL{K: 4, Local: local} }},
		{"OneShot", func() fedkit.Strategy { return &strategy.OneShot{K: 4, Local: local} }},
		{"FeSEM", func() fedkit.Strategy { return &strategy.FeSEM{K: 4, Local: local} }},
	}
	data := must.M1(datasets.MNIST())
	runs := make([][]*fedkit.History, len(algorithms))
	for seed := range uint64(5) {
		deal := partition.Given(must.M1(partition.IID{Clients: 40, Seed: seed}.Partition(data)).Clients)
		for i := range deal {
			deal[i].Train = chart.Thin(deal[i].Train, 50)
		}
		fed := must.M1(fedkit.New(data, partition.Rotations{Of: deal}, model.UniformInit(model.MLP(200))))
		for i, a := range algorithms {
			runs[i] = append(runs[i], must.M1(fedkit.Run(context.Background(), fed, a.make(), fedkit.Options{Rounds: 15, EvalEvery: 15, Seed: seed})))
		}
	}
	for i, a := range algorithms {
		accuracy, half := stats.Interval(compare.Clients.Of(runs[i]...))
		fmt.Printf("%-34s accuracy %4.1f ± %.1f %%", a.name, 100*accuracy, 100*half)
		if i > 1 {
			aris, found := compare.ARI.Of(runs[i]...), 0
			for _, ari := range aris {
				if ari >= 0.95 {
					found++
				}
			}
			fmt.Printf("   ARI ≥ 0.95 with %d of %d seeds: %.2f", found, len(aris), aris)
		}
		fmt.Println()
	}
}
