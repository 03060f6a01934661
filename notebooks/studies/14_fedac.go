package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedAC has FedAC at full size, its pulls and its thresholds.
func FedAC() study.Plan {
	var plan list
	options := func(rounds int) fedkit.Options {
		return fedkit.Options{Rounds: rounds, EvalEvery: 1, Keep: totals}
	}

	// The convolutional networks of the paper, on all images of both data sets, a quarter of 100 clients at each of four angles
	fifty := fedkit.Local{Batch: 50, LR: 0.1}
	for _, data := range []struct {
		name string
		set  study.Data
	}{{"MNIST", mnist}, {"CIFAR-10", cifar}} {
		for _, s := range []named{
			{"FedAC", &strategy.FedAC{K: 4, Fixed: true, Local: fifty}},
			{"FedAC, from 2", &strategy.FedAC{K: 2, Local: fifty}},
			{"IFCA", &strategy.IFCA{K: 4, Local: fifty}},
			{"FedAvg", &strategy.FedAvg{Local: fifty}},
			{"LocalOnly", &strategy.LocalOnly{Local: fifty}},
		} {
			for seed := range seeds(5) {
				world := study.World{Data: data.set, Partition: partition.Rotations{Of: partition.IID{Clients: 100, Seed: seed}},
					Model: study.Of(model.LeNet), HoldOut: study.HeldOut{Clients: 8, Seed: 1}}
				plan.add(world, s, options(20), seed, "part", "angles", "data", data.name)
			}
		}
	}

	// μ and λ, with the convolutions as embedding, or the first layer of an MLP
	iid := partition.IID{Clients: 48}
	groups := []struct {
		name string
		rule partition.Rule
	}{{"rotation", partition.Rotations{Of: iid}}, {"permuted", partition.Relabel{Of: iid, Groups: 4}}}
	add := func(rule partition.Rule, net study.Model, rounds int, s *strategy.FedAC, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: mnist, Partition: partition.Take{Of: rule, Train: 125, Test: 50, Seed: seed}, Model: net,
				HoldOut: study.HeldOut{Clients: 8, Seed: 1}}
			plan.add(world, named{"FedAC", s}, options(rounds), seed, labels...)
		}
	}
	twelve := fedkit.Local{Batch: 12, LR: 0.1}
	for _, net := range []struct {
		name  string
		model study.Model
	}{{"MLP", study.Of(model.MLP, 50)}, {"LeNet", study.Of(model.LeNet)}} {
		for _, group := range groups {
			for _, λ := range []float64{0, 0.01, 0.1} {
				for _, μ := range []float64{0, 0.1, 1} {
					s := &strategy.FedAC{K: 4, Fixed: true, Lambda: zero(λ), Mu: zero(μ), Local: twelve}
					add(group.rule, net.model, 8, s, "part", "pulls", "model", net.name, "setting", group.name, "λ", λ, "μ", μ)
				}
			}
		}
	}

	// The thresholds a and b of the tuning, on all of the small digits: where they are chosen, and where they are judged
	for _, setting := range []struct {
		name string
		rule func(seed uint64) partition.Rule
	}{
		{"rotation", func(seed uint64) partition.Rule {
			return partition.Rotations{Of: partition.IID{Clients: 24, Seed: seed}}
		}},
		{"permuted", func(seed uint64) partition.Rule {
			return partition.Relabel{Of: partition.IID{Clients: 24, Seed: seed}, Groups: 4}
		}},
		{"Dirichlet", func(seed uint64) partition.Rule {
			return partition.Relabel{Of: partition.Dirichlet{Clients: 24, Alpha: 0.1, Seed: seed}, Groups: 1}
		}},
		{"none", func(seed uint64) partition.Rule {
			return partition.Relabel{Of: partition.IID{Clients: 24, Seed: seed}, Groups: 1}
		}},
	} {
		for _, k := range []int{2, 8} {
			for _, a := range []float64{0.001, 0.1} {
				for _, b := range []float64{0.3, 0.5, 1, 2} {
					s := &strategy.FedAC{K: k, A: a, B: b, Local: fedkit.Local{Epochs: 2, Batch: 20, LR: 0.2}}
					for seed := range seeds(5) {
						world := study.World{Data: digits, Partition: setting.rule(seed), Model: study.Of(model.MLP, 32),
							HoldOut: study.HeldOut{Clients: 4, Seed: 1}}
						labels := []any{"part", "thresholds", "setting", setting.name, "K", k, "a", a, "b", b}
						plan.add(world, named{"FedAC", s}, options(15), seed, labels...)
					}
				}
			}
		}
	}

	// From which number of clusters the four groups are found, with the default thresholds, in more rounds
	for _, group := range groups {
		for _, k := range []int{1, 2, 4, 8} {
			add(group.rule, study.Of(model.MLP, 50), 30, &strategy.FedAC{K: k, Local: twelve}, "part", "number", "setting", group.name, "K", k)
		}
	}
	return study.Plan(plan)
}
