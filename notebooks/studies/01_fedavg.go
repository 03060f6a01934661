package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/study"
)

// FedAvg has the 2NN of the paper on federated averaging: MNIST on 100 clients, IID, and with two shards each until 97 %.
func FedAvg() study.Plan {
	var plan list
	p := preset.MNIST2NN().Trial
	for seed := range uint64(5) {
		plan.add(p.World, named{"2NN", p.Strategy}, fedkit.Options{Rounds: 50, Keep: totals}, seed, "data", "IID")
	}
	p.Partition = partition.Shards{Clients: 100, Seed: 1}
	until := fedkit.Options{Rounds: 300, StopAt: fedkit.StopAt{Value: 0.97}, Keep: totals}
	plan.add(p.World, named{"2NN", p.Strategy}, until, 0, "data", "two shards")
	return study.Plan(plan)
}
