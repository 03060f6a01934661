package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedCluster has FedCluster with convolutional networks on all of MNIST and of CIFAR-10, and its grids: 275 runs.
//
// A seed is one choice of everything: who holds which images, who is unseen, the first model, clusters, their orders, batches.
func FedCluster() study.Plan {
	var plan list
	local := func(epochs int, rate float64) fedkit.Local { return fedkit.Local{Epochs: epochs, Batch: 10, LR: rate} }
	options := func(rounds, every int) fedkit.Options { return fedkit.Options{Rounds: rounds, EvalEvery: every} }

	// 110 clients with two shards each, about 545 images; 100 take part, a fifth of each cluster in a round, and 10 are unseen.
	add := func(s named, o fedkit.Options, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: mnist, Partition: partition.Shards{Clients: 110, Seed: seed}, Model: study.Of(model.LeNet),
				HoldOut: study.HeldOut{Clients: 10}, Devices: evenDevices(seed)}
			plan.add(world, s, o, seed, append([]any{"part", "MNIST"}, labels...)...)
		}
	}
	one := local(1, 0.05)
	add(named{"FedAvg", &strategy.FedAvg{Fraction: 0.2, Local: one}}, options(20, 1))
	add(named{"FedAvg, small cohorts", &strategy.FedAvg{Fraction: 0.02, Local: one}}, options(200, 10))
	for _, k := range []int{2, 5, 10, 20} {
		add(named{"FedCluster", &strategy.FedCluster{K: k, Fraction: 0.2, Local: one}}, options(20, 1), "K", k)
	}
	alike, mixed := cluster.KMeans{}, cluster.Stratified{}
	add(named{"FedCluster, alike inside", &strategy.FedCluster{K: 10, Clusterer: alike, Fraction: 0.2, Local: one}}, options(20, 1))
	add(named{"FedCluster, mixed inside", &strategy.FedCluster{K: 10, Clusterer: mixed, Fraction: 0.2, Local: one}}, options(20, 1))

	// 1,000 devices with 50 images each, of which the share ρ is of one class; ten clusters by chance, a tenth of each in a round
	for _, s := range []named{
		{"FedAvg", &strategy.FedAvg{Fraction: 0.1, Local: local(2, 0.05)}},
		{"FedCluster", &strategy.FedCluster{K: 10, Fraction: 0.1, Local: local(2, 0.05)}},
	} {
		for _, ρ := range []float64{0.1, 0.5, 0.9} {
			for seed := range seeds(5) {
				world := study.World{Data: cifar, Partition: partition.Majority{Clients: 1000, Share: ρ, Seed: seed},
					Model: study.Of(model.LeNet), Devices: evenDevices(seed)}
				plan.add(world, s, options(30, 1), seed, "part", "CIFAR-10", "ρ", ρ)
			}
		}
	}

	// The small setting of the notebook: 30 clients with 60 images of two shards each, and 6 unseen ones
	small := func(rule func(seed uint64) partition.Rule, s named, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: mnist, Partition: partition.Take{Of: rule(seed), Train: 60, Seed: seed}, Model: study.Of(model.MLP, 32),
				HoldOut: study.HeldOut{Clients: 6}, Devices: evenDevices(seed)}
			plan.add(world, s, options(16, 1), seed, labels...)
		}
	}
	shards := func(seed uint64) partition.Rule { return partition.Shards{Clients: 36, Seed: seed} }
	rates := []float64{0.01, 0.03, 0.1, 0.3, 1}
	for _, rate := range rates {
		small(shards, named{"FedAvg", &strategy.FedAvg{Local: local(1, rate)}}, "part", "rates", "η", rate)
	}
	for _, k := range []int{2, 5, 10, 30} {
		for _, rate := range rates {
			small(shards, named{"FedCluster", &strategy.FedCluster{K: k, Local: local(1, rate)}}, "part", "rates", "K", k, "η", rate)
		}
	}
	two := func(l fedkit.Local) []named {
		return []named{{"FedAvg", &strategy.FedAvg{Local: l}}, {"FedCluster", &strategy.FedCluster{K: 5, Local: l}}}
	}
	for _, s := range two(local(1, 0.1)) {
		for _, ρ := range []float64{0.1, 0.4, 0.7, 1} {
			majority := func(seed uint64) partition.Rule { return partition.Majority{Clients: 36, Share: ρ, Seed: seed} }
			small(majority, s, "part", "heterogeneity", "ρ", ρ)
		}
	}
	for i := range two(one) { // FedAvg with all of them, then FedCluster
		for _, l := range []struct {
			name      string
			optimizer fedkit.Optimizer
			rate      float64
		}{
			{"momentum 0.03", fedkit.Momentum{Beta: 0.9}, 0.03}, {"Adam 0.001", fedkit.Adam{}, 0.001},
			{"Adam 0.003", fedkit.Adam{}, 0.003}, {"Adam 0.01", fedkit.Adam{}, 0.01},
		} {
			local := fedkit.Local{Epochs: 1, Batch: 10, LR: l.rate, Optimizer: l.optimizer}
			small(shards, two(local)[i], "part", "optimizers", "local", l.name)
		}
	}
	return study.Plan(plan)
}

// evenDevices need 10 ms for an example, and send and receive a megabyte in a second.
func evenDevices(seed uint64) sim.Devices {
	return sim.Devices{PerExample: sim.Constant(0.01), Up: sim.Constant(1e6), Down: sim.Constant(1e6), Seed: seed}
}
