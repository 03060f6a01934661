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
		rules := []partition.Rule{partition.IID{Clients: 10, Seed: seed},
			partition.Dirichlet{Clients: 10, Alpha: 0.5, Redraw: true, Seed: seed}, labels(1), labels(2), labels(3)}
		for _, d := range []struct {
			part    string
			data    datasets.Name
			augment fedkit.Augment
		}{{"MNIST", mnist, fedkit.Augment{}}, {"CIFAR-10", cifar, fedkit.Augment{Crop: 4, Flip: true}}} {
			local.Augment = d.augment
			for i, of := range []string{"IID", "Dirichlet 0.5", "1 label", "2 labels", "3 labels"} {
				w := study.World{Data: d.data, Partition: rules[i], Model: study.Of(model.UniformInit, study.Of(model.LeNet))}
				add := func(s named, more ...any) {
					plan.add(w, s, fedkit.Options{Rounds: 50, Keep: totals}, seed, append([]any{"part", d.part, "partition", of}, more...)...)
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

// Stragglers has those of section 4: the FedProx paper's synthetic(1, 1), but at most 100 rows of each client and 40 rounds.
func Stragglers() study.Plan {
	var plan list
	w := study.World{Data: datasets.Synthetic{Alpha: 1, Beta: 1, Seed: 1}, Model: study.Of(model.LogisticRegression),
		Partition: partition.Take{Of: partition.Natural{}, Train: 100, Seed: 1}}
	for i, share := range []float64{0.5, 0.9} {
		add := func(name string, drop bool, μ float64) {
			local := fedkit.Local{Epochs: 20, Batch: 10, LR: 0.01, Prox: μ}
			s := named{name, &examples.Straggling{Fraction: 1.0 / 3, Share: share, Drop: drop, Local: local}}
			for seed := range uint64(5) {
				plan.add(w, s, fedkit.Options{Rounds: 40, EvalEvery: 2, Keep: totals}, seed, "stragglers", []string{"50 %", "90 %"}[i])
			}
		}
		add("FedAvg, drops them", true, 0)
		add("FedAvg, keeps their work", false, 0)
		add("FedProx, μ = 1, keeps it", false, 1)
	}
	return study.Plan(plan)
}
