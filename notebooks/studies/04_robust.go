package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Robust has robust rules on MNIST: 100 clients with two shards each, of which none or thirty flip the sign, and an experiment of Yin et
// al., 40 clients with gradients of 150 of their 1,500 images, of which none or two replace each label y by 9 − y.
func Robust() study.Plan {
	var plan list
	add := func(part string, clean study.World, by study.Attackers, seed uint64, rules []named, o fedkit.Options) {
		attacked := clean
		attacked.Attack = by
		for _, s := range rules {
			plan.add(clean, s, o, seed, "part", part, "attack", "none")
			plan.add(attacked, s, o, seed, "part", part, "attack", by.By)
		}
	}
	by := func(local fedkit.Local, name string, a fedkit.Aggregator) named {
		return named{name, &strategy.FedAvg{Aggregator: a, Local: local}}
	}
	quick, gradient := fedkit.Local{Steps: 5, Batch: 32, LR: 0.3}, fedkit.Local{Steps: 1, Batch: 150, LR: 0.5}
	for seed := range seeds(5) {
		shards := study.World{Data: mnist, Partition: partition.Shards{Clients: 100, Seed: seed}, Model: study.Of(model.MLP, 32)}
		add("two shards", shards, study.Attackers{By: attack.SignFlip{Scale: 5}, Share: 0.3, Seed: 1}, seed, []named{ // the same clients, with other data
			by(quick, "mean", aggregate.Mean{}), by(quick, "median", aggregate.Median{}), by(quick, "trimmed mean", aggregate.TrimmedMean{Share: 0.3}),
			by(quick, "Krum", aggregate.Krum{F: 30}), by(quick, "Multi-Krum", aggregate.MultiKrum{F: 30}),
			by(quick, "geometric median", aggregate.GeometricMedian{}), by(quick, "nearest mix + median", aggregate.NearestMix{F: 30}),
		}, fedkit.Options{Rounds: 12, Keep: totals})
		iid := study.World{Data: mnist, Partition: partition.IID{Clients: 40, Seed: 1}, Model: study.Of(model.LogisticRegression)}
		add("Yin et al.", iid, study.Attackers{By: attack.LabelFlip{}, Share: 0.05, Seed: seed}, seed, []named{
			by(gradient, "mean", aggregate.Mean{}), by(gradient, "median", aggregate.Median{}), by(gradient, "trimmed mean", aggregate.TrimmedMean{Share: 0.05}),
		}, fedkit.Options{Rounds: 60, EvalEvery: 60, Keep: totals})
	}
	return study.Plan(plan)
}
