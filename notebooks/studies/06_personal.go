package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Personal has four more seeds of notebook 06_personal, which computes seed 1: four answers to what is shared, among 100 clients of MNIST
// with 60 images of two or five shards each.
func Personal() study.Plan {
	plan, once, twice := list{}, fedkit.Local{Epochs: 1, Batch: 10, LR: 0.1}, fedkit.Local{Epochs: 2, Batch: 10, LR: 0.1}
	for _, shards := range []int{2, 5} {
		rule := partition.Take{Of: partition.Shards{Clients: 100, PerClient: shards, Seed: 1}, Train: 60, Seed: 1}
		w := study.World{Data: mnist, Partition: rule, Model: study.Of(model.MLP, 32)}
		for seed := uint64(2); seed <= 5; seed++ {
			for _, s := range []named{
				{"FedAvg", &strategy.FedAvg{Fraction: 0.3, Local: twice}},
				{"FedRep", &strategy.FedRep{Fraction: 0.3, HeadEpochs: 1, Local: once}},
				{"FedRep, turned", &strategy.FedRep{Fraction: 0.3, HeadEpochs: 1, Local: once, Head: []string{"dense1"}}},
				{"LocalOnly", &strategy.LocalOnly{Fraction: 0.3, Local: twice}},
			} {
				plan.add(w, s, fedkit.Options{Rounds: 25, EvalEvery: 5, Keep: totals}, seed, "shards", shards)
			}
		}
	}
	return study.Plan(plan)
}
