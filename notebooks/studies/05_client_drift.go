package studies

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/notebooks/examples"
)

// ClientDrift has the table of Flower's baseline niid_bench for MNIST and CIFAR-10: five partitions, four algorithms, four μ of FedProx.
//
// LeNet from PyTorch's start, ten clients, all in each of 50 rounds, ten epochs. The table has the best round, which is the maximum of
// the accuracy on test rows over the rounds, and the best μ by it. There weight decay of 1e-5 goes through momentum, which sums it to 1e-4.
// Images of CIFAR-10 are cropped and mirrored at random, there with a reflected margin instead of a gray one.
func ClientDrift() study.Plan {
	var plan list
	local := fedkit.Local{Epochs: 10, Batch: 64, LR: 0.01, Optimizer: fedkit.WeightDecay{Lambda: 1e-4, Then: fedkit.Momentum{Beta: 0.9}}}
	for seed := range seeds(5) {
		labels := func(k int) partition.Rule {
			return partition.Classes{Clients: 10, PerClient: k, Drawn: true, Seed: seed}
		}
		for _, d := range []struct {
			part string
			data datasets.Name
		}{{"MNIST", mnist}, {"CIFAR-10", cifar}} {
			local := local
			if d.data == cifar {
				local.Augment = fedkit.Augment{Crop: 4, Flip: true}
			}
			for _, of := range []struct {
				name string
				rule partition.Rule
			}{
				{"IID", partition.IID{Clients: 10, Seed: seed}}, {"Dirichlet 0.5", partition.Dirichlet{Clients: 10, Alpha: 0.5, Redraw: true, Seed: seed}},
				{"1 label", labels(1)}, {"2 labels", labels(2)}, {"3 labels", labels(3)},
			} {
				w := study.World{Data: d.data, Partition: of.rule, Model: study.Of(model.UniformInit, study.Of(model.LeNet))}
				add := func(s named, more ...any) {
					plan.add(w, s, fedkit.Options{Rounds: 50, Keep: totals}, seed, append([]any{"part", d.part, "partition", of.name}, more...)...)
				}
				add(named{"FedAvg", &strategy.FedAvg{Local: local}})
				add(named{"SCAFFOLD", &strategy.SCAFFOLD{Weighting: strategy.ByExamples{}, Local: local}})
				for _, μ := range []float64{0.001, 0.01, 0.1, 1} {
					add(named{"FedProx", &strategy.FedProx{Mu: μ, Local: local}}, "μ", μ)
				}
				add(named{"FedNova", &examples.FedNova{Local: local}})
			}
		}
	}
	return study.Plan(plan)
}
