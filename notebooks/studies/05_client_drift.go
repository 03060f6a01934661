package studies

import (
	"fmt"

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

// Stragglers has those of section 4: the FedProx paper's synthetic(1, 1), but at most 100 rows of each client and 40 rounds.
func Stragglers() study.Plan {
	var plan list
	w := study.World{Data: datasets.Synthetic{Alpha: 1, Beta: 1, Seed: 1}, Model: study.Of(model.LogisticRegression),
		Partition: partition.Take{Of: partition.Natural{}, Train: 100, Seed: 1}}
	for _, share := range []float64{0.5, 0.9} {
		add := func(name string, drop bool, μ float64) {
			s := &Straggling{Share: share, Drop: drop, Local: fedkit.Local{Epochs: 20, Batch: 10, LR: 0.01, Prox: μ}}
			for seed := range uint64(5) {
				o, percent := fedkit.Options{Rounds: 40, EvalEvery: 2, Keep: totals}, fmt.Sprintf("%.0f %%", 100*share)
				plan.add(w, named{name, s}, o, seed, "stragglers", percent)
			}
		}
		add("FedAvg, drops them", true, 0)
		add("FedAvg, keeps their work", false, 0)
		add("FedProx, μ = 1, keeps it", false, 1)
	}
	return study.Plan(plan)
}

// Straggling is FedAvg in which a Share of each cohort is late, after 1 to E − 1 epochs, which count or are dropped. Local.Prox: FedProx.
type Straggling struct {
	Share float64
	Drop  bool
	Local fedkit.Local
	strategy.State
}

// Round implements fedkit.Strategy.
func (s *Straggling) Round(r *fedkit.Round) error {
	job := fedkit.Job{Start: s.X, Local: s.Local}
	chosen, rng := r.Select(nil, 1.0/3), r.Rand("stragglers")
	for i, at := range rng.Perm(len(chosen)) {
		late, done := float64(at) < s.Share*float64(len(chosen)), 1+rng.IntN(s.Local.Epochs-1)
		if !late {
			done = s.Local.Epochs
		}
		if !late || !s.Drop {
			job.Clients, job.Epochs = append(job.Clients, chosen[i]), append(job.Epochs, done)
		}
	}
	u := r.Train(job)
	s.X = u.Models.Mean(u.Examples())
	return r.Err()
}
