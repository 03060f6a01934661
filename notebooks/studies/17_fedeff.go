package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedEff has FedEff with its initialization round, FedAvg, and FedAvg with a deadline, on all of MNIST.
//
// 100 clients hold two shards each, 600 images of one to four digits, and 20 take part in a round. Devices are the same for all seeds,
// so that ERT is: 37 s for τ = 1 and 20 s for τ = 0.5, which are the deadlines. What takes Initialize has one round more.
func FedEff() study.Plan {
	var plan list
	devices := sim.Devices{
		PerExample: sim.LogNormal{Median: 0.01, Sigma: 0.75},
		Down:       sim.Uniform{Low: 2e5, High: 1e6},
		Up:         sim.Uniform{Low: 5e4, High: 2e5},
		Seed:       1,
	}
	local := fedkit.Local{Epochs: 5, Batch: 20, LR: 0.2}
	falling := fedkit.Cosine{Rounds: 30, Floor: 0.2}
	fedavg := &strategy.FedAvg{Fraction: 0.2, Local: local}
	fedeff := func(s strategy.FedEff) *strategy.FedEff {
		s.Fraction, s.Local = 0.2, local
		return &s
	}
	for _, net := range []struct {
		name  string
		model study.Model
	}{{"MLP Hidden=32", study.Of(model.MLP, 32)}, {"LeNet", study.Of(model.LeNet)}} {
		for _, s := range []struct {
			named
			rounds int
			pace   fedkit.Pace
		}{
			{named{"EC: FedAvg", fedavg}, 30, fedkit.Pace{}},
			{named{"UEC: FedEff", fedeff(strategy.FedEff{Initialize: true})}, 31, fedkit.Pace{}},
			{named{"EIC", fedeff(strategy.FedEff{Initialize: true, Equal: true, Schedule: falling})}, 31, fedkit.Pace{}},
			{named{"UEIC", fedeff(strategy.FedEff{Initialize: true, Schedule: falling})}, 31, fedkit.Pace{}},
			{named{"FedEff, τ = 0.5", fedeff(strategy.FedEff{Initialize: true, Tau: 0.5})}, 31, fedkit.Pace{}},
			{named{"FedEff, not initialized", fedeff(strategy.FedEff{})}, 30, fedkit.Pace{}},
			{named{"FedAvg, deadline ERT", fedavg}, 30, fedkit.Pace{Deadline: 37, PartialWork: true}},
			{named{"FedAvg, deadline of τ = 0.5", fedavg}, 30, fedkit.Pace{Deadline: 20, PartialWork: true}},
		} {
			for seed := range seeds(5) {
				world := study.World{Data: mnist, Partition: partition.Shards{Clients: 100, Seed: seed}, Model: net.model, Devices: devices}
				options := fedkit.Options{Rounds: s.rounds, Pace: s.pace, Keep: fedkit.Keep{Scores: fedkit.Never}}
				plan.add(world, s.named, options, seed, "model", net.name)
			}
		}
	}
	return study.Plan(plan)
}
