package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Models has networks with convolutions on CIFAR-10, from LeNet to ResNet-18.
//
// Ten clients with 500 images each, four in a round, one epoch. ResNet-18 trains some twenty images a second on two cores, so that its
// eight rounds take a quarter of an hour.
func Models() study.Plan {
	var plan list
	fedavg := &strategy.FedAvg{Fraction: 0.4, Local: fedkit.Local{Epochs: 1, Batch: 20, LR: 0.05}}
	for _, net := range []struct {
		name string
		make func() fedkit.Model
	}{{"LeNet", model.LeNet}, {"CNN", model.CNN}, {"ResNet-8", model.ResNet8}, {"ResNet-18", model.ResNet18}} {
		for seed := range seeds(3) {
			rule := partition.Take{Of: partition.IID{Clients: 10}, Train: 500, Test: 100, Seed: seed}
			world := study.World{Data: cifar, Partition: rule, Model: study.Of(net.make)}
			plan.add(world, named{net.name, fedavg}, fedkit.Options{Rounds: 8, EvalEvery: 2, Keep: totals}, seed)
		}
	}
	return study.Plan(plan)
}
