package studies

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Machines are five methods on two skews of the small digits, three seeds each: what the notebook has three processes compute.
func Machines() (p study.Plan) {
	local := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, of := range []struct {
		name     string
		strategy fedkit.Strategy
	}{
		{"FedAvg", &strategy.FedAvg{Local: local}},
		{"FedProx", &strategy.FedProx{Local: local, Mu: 0.1}},
		{"FedAvgM", &strategy.FedAvgM{Local: local}},
		{"median", &strategy.FedAvg{Local: local, Aggregator: aggregate.Median{}}},
		{"SCAFFOLD", &strategy.SCAFFOLD{Local: local}},
	} {
		for _, alpha := range []float64{0.3, 3} {
			for seed := range uint64(3) {
				p = append(p, &study.Trial{
					World: study.World{Data: datasets.Name("digits"), Partition: partition.Dirichlet{Clients: 40, Alpha: alpha},
						Model: study.Of(model.MLP, 64)},
					Strategy: of.strategy, Options: fedkit.Options{Name: of.name, Rounds: 20, EvalEvery: 10, Seed: seed + 1}, Labels: []any{"α", alpha}})
			}
		}
	}
	return p
}
