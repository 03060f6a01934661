package studies

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedSC has FedSC with convolutional networks on all of MNIST and of CIFAR-10, and with a small one: 230 runs.
//
// Clients have two shards each, and some more clients are unseen; a share C of each cluster takes part in a round. Runs that notebook
// 12_fedcluster has, too, are computed once if both studies have one store. A seed is one choice of everything.
func FedSC() study.Plan {
	var plan list
	local := fedkit.Local{Epochs: 1, Batch: 10, LR: 0.05}
	add := func(data datasets.Name, clients int, s named, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: data, Partition: partition.Shards{Clients: clients, Seed: seed}, Model: study.Of(model.LeNet),
				HoldOut: study.HeldOut{Clients: 10}, Devices: evenDevices(seed)}
			plan.add(world, s, fedkit.Options{Rounds: 20, EvalEvery: 1}, seed, labels...)
		}
	}
	// Figure 8, the number of clusters: 100 clients with about 545 images, C = 0.2
	numbers := []int{10, 2, 5, 20}
	add(mnist, 110, named{"FedAvg", &strategy.FedAvg{Fraction: 0.2, Local: local}}, "part", "clusters")
	for _, k := range numbers {
		add(mnist, 110, named{"FedSC", &strategy.FedSC{K: k, Fraction: 0.2, Local: local}}, "part", "clusters", "K", k)
	}
	add(mnist, 110, named{"FedSC, in parallel", &strategy.FedSC{K: 10, Parallel: true, Fraction: 0.2, Local: local}}, "part", "clusters")
	add(mnist, 110, named{"FedSC, by updates", &strategy.FedSC{K: 10, Updates: true, Fraction: 0.2, Local: local}}, "part", "clusters")
	for _, k := range numbers {
		add(mnist, 110, named{"FedCluster", &strategy.FedCluster{K: k, Fraction: 0.2, Local: local}}, "part", "clusters", "K", k)
	}

	methods := func(C float64, local fedkit.Local) []named {
		return []named{
			{"FedAvg", &strategy.FedAvg{Fraction: C, Local: local}},
			{"FedSC", &strategy.FedSC{K: 10, Fraction: C, Local: local}},
			{"FedSC, in parallel", &strategy.FedSC{K: 10, Parallel: true, Fraction: C, Local: local}},
			{"FedCluster", &strategy.FedCluster{K: 10, Fraction: C, Local: local}},
		}
	}
	// Figure 9, the number of clients, who have all of MNIST together; with 100 it is the setting above
	for _, s := range methods(0.2, local) {
		for _, M := range []int{20, 50} {
			add(mnist, M+10, s, "part", "clients", "M", M)
		}
	}
	for _, s := range methods(0.2, local) {
		add(cifar, 110, s, "part", "CIFAR-10")
	}

	// The same with a small network, 60 images a client, and five seeds: C = 1 and 10 rounds, C = 0.5 and 15 rounds
	small := func(clients, rounds int, s named, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: mnist, Partition: partition.Take{Of: partition.Shards{Clients: clients, Seed: seed}, Train: 60, Seed: seed},
				Model: study.Of(model.MLP, 32), HoldOut: study.HeldOut{Clients: 6}, Devices: evenDevices(seed)}
			plan.add(world, s, fedkit.Options{Rounds: rounds, EvalEvery: 1}, seed, labels...)
		}
	}
	local.LR = 0.1
	small(46, 10, named{"FedAvg", &strategy.FedAvg{Local: local}}, "part", "small, clusters")
	for _, k := range []int{2, 5, 10, 20, 40} {
		small(46, 10, named{"FedSC", &strategy.FedSC{K: k, Local: local}}, "part", "small, clusters", "K", k)
	}
	for _, k := range []int{2, 5, 10, 20, 40} {
		small(46, 10, named{"FedCluster", &strategy.FedCluster{K: k, Local: local}}, "part", "small, clusters", "K", k)
	}
	for _, s := range methods(0.5, local) {
		for _, M := range []int{20, 40, 60} {
			small(M+6, 15, s, "part", "small, clients", "M", M)
		}
	}
	return study.Plan(plan)
}
