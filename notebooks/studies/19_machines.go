package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Machines has five methods on two skews of the small digits, three seeds each, which notebook 19_machines has three processes compute.
func Machines() study.Plan {
	var plan list
	local := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, s := range []named{
		{"FedAvg", &strategy.FedAvg{Local: local}},
		{"FedProx", &strategy.FedProx{Mu: 0.1, Local: local}},
		{"FedAvgM", &strategy.FedAvgM{Local: local}},
		{"median", &strategy.FedAvg{Aggregator: aggregate.Median{}, Local: local}},
		{"SCAFFOLD", &strategy.SCAFFOLD{Local: local}},
	} {
		for _, α := range []float64{0.3, 3} {
			for seed := range seeds(3) {
				world := study.World{Data: digits, Partition: partition.Dirichlet{Clients: 40, Alpha: α}, Model: study.Of(model.MLP, 64)}
				plan.add(world, s, fedkit.Options{Rounds: 10, EvalEvery: 10}, seed, "α", α)
			}
		}
	}
	return study.Plan(plan)
}
