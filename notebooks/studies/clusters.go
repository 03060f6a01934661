package studies

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Clusters are 30 runs of some seconds each, which ./scripts/test clusters has a scheduler compute.
func Clusters() (plan study.Plan) {
	w := study.World{Data: datasets.Name("digits"), Partition: partition.Dirichlet{Clients: 10, Alpha: 0.5}, Model: study.Of(model.MLP, 32)}
	for _, mu := range []float64{0.01, 0.1, 1} {
		for seed := range uint64(10) {
			s := &strategy.FedProx{Mu: mu, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
			plan = append(plan, &study.Trial{World: w, Strategy: s, Options: fedkit.Options{Rounds: 500, Seed: seed + 1}, Labels: []any{"μ", mu}})
		}
	}
	return plan
}
