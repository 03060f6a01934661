package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/notebooks/examples"
)

// AdaptiveClustering has adaptive clustering at the size of the project's log, and the rule over its coin, threshold and pauses.
//
// PyTorch starts layers as UniformInit does, and the project's code takes the first client of each cluster.
func AdaptiveClustering() study.Plan {
	var plan list
	local := fedkit.Local{Batch: 64, LR: 0.001, Optimizer: fedkit.Adam{}}
	data := study.Data(mnist)
	add := func(part string, rule partition.Rule, unseen study.HeldOut, rounds int, s named, seed uint64, labels ...any) {
		world := study.World{Data: data, Partition: rule, Model: study.Of(model.UniformInit, study.Of(model.MLP, 128, 64)), HoldOut: unseen}
		options := fedkit.Options{Rounds: rounds, EvalEvery: 1, Keep: fedkit.Keep{Scores: fedkit.Never}}
		plan.add(world, s, options, seed, append([]any{"part", part}, labels...)...)
	}
	all := study.HeldOut{}

	// The log: eight clients that all hold the 60,000 training images, seven epochs. The coin lets p fall in epochs 1 and 2 and keeps it
	// in epoch 3, as in the log: these are the first ten seeds for which it does, five of them for what the log is compared with. The
	// last client is tested on the training images.
	logged := partition.Same{Clients: 8, Seen: true}
	ten := []uint64{23, 27, 30, 33, 48, 59, 60, 61, 77, 82}
	published := &strategy.AdaptiveClustering{AsPublished: true, First: true, Local: local}
	averaged := &strategy.AdaptiveClustering{First: true, Local: local}
	for _, seed := range ten {
		add("log", logged, all, 7, named{"as published", published}, seed)
	}
	for _, s := range []named{
		{"averaged", averaged},
		{"averaged, Reuse", &strategy.AdaptiveClustering{First: true, Reuse: true, Local: local}},
		{"without clustering", &strategy.FedAvg{Local: local}},
	} {
		for _, seed := range ten[:5] {
			add("log", logged, all, 7, s, seed)
		}
	}

	// What would give the log's numbers? The program as published from a model that was trained before, with another rate, or with more
	// passes in each epoch; and the loss of one client in pass after pass.
	faster, longer := local, local
	faster.LR, longer.Epochs = 0.003, 7
	trained := &strategy.AdaptiveClustering{AsPublished: true, First: true, Warmup: 2, Local: local}
	add("why", logged, all, 7, named{"η 0.003", &strategy.AdaptiveClustering{AsPublished: true, First: true, Local: faster}}, 23)
	add("why", logged, all, 9, named{"trained before", trained}, 23)
	add("why", logged, all, 3, named{"seven passes", &strategy.AdaptiveClustering{AsPublished: true, First: true, Local: longer}}, 23)
	add("why", partition.Same{Clients: 1}, all, 12, named{"one client", &strategy.FedAvg{Local: local}}, 23)

	// Or the log comes from another form of the program: all clients train one model, one after another, which may be the global one;
	// pixels have a mean of 0 and a standard deviation of 1; the test images are among the training images; the chosen models are added
	// at once.
	normalized, path := examples.Prepared{Of: mnist, Mean: 0.1307, SD: 0.3081}, []int{7, 5}
	for _, form := range []struct {
		data study.Data
		named
	}{
		{mnist, named{"one model", &examples.InTurn{P: path, Chain: true, Local: local}}},
		{mnist, named{"the global model", &examples.InTurn{P: path, Chain: true, Merge: true, Local: local}}},
		{normalized, named{"normalized", published}},
		{normalized, named{"one model, normalized", &examples.InTurn{P: path, Chain: true, Local: local}}},
		{examples.Prepared{Of: mnist, Joined: true}, named{"test images too", published}},
		{mnist, named{"added at once", &examples.InTurn{P: path, AtOnce: true, Local: local}}},
	} {
		data = form.data
		for _, seed := range ten {
			add("log, explanations", logged, all, 7, form.named, seed)
		}
	}
	data = mnist

	// The rule, with any toss of the coin: 500 images for all eight clients, fifteen epochs
	for _, form := range []struct {
		name      string
		published bool
	}{{"as published", true}, {"averaged", false}} {
		for _, setting := range []struct {
			name string
			rule strategy.AdaptiveClustering
		}{
			{"as in the log", strategy.AdaptiveClustering{}},
			{"coin 0", strategy.AdaptiveClustering{SAProb: fedkit.Zero}},
			{"coin 0.25", strategy.AdaptiveClustering{SAProb: 0.25}},
			{"coin 0.75", strategy.AdaptiveClustering{SAProb: 0.75}},
			{"coin 1", strategy.AdaptiveClustering{SAProb: 1}},
			{"threshold 1", strategy.AdaptiveClustering{Threshold: 1}},
			{"threshold 1.1", strategy.AdaptiveClustering{Threshold: 1.1}},
			{"threshold 1.25", strategy.AdaptiveClustering{Threshold: 1.25}},
			{"threshold 2", strategy.AdaptiveClustering{Threshold: 2}},
			{"pause 1", strategy.AdaptiveClustering{StabilizeRounds: 1}},
			{"pause 2", strategy.AdaptiveClustering{StabilizeRounds: 2}},
			{"pause 6", strategy.AdaptiveClustering{StabilizeRounds: 6}},
		} {
			s := setting.rule
			s.AsPublished, s.First, s.Local = form.published, true, local
			for seed := range seeds(5) {
				few := partition.Same{Clients: 8, Train: 500, Seed: seed}
				add("rule", few, all, 15, named{form.name, &s}, seed, "setting", setting.name)
			}
		}
	}

	// Clients that differ: all of MNIST at four angles, twenty clients, five at each angle, and one of each that never takes part
	angles := selection.OnePerCluster{Labels: []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3}}
	for _, s := range []named{
		{"all 20", &strategy.FedAvg{Local: local}},
		{"the rule as it stands", &strategy.AdaptiveClustering{Local: local}},
		{"four clusters, Reuse", &strategy.AdaptiveClustering{P: 4, SAProb: 1, Reuse: true, Local: local}},
		{"one of each angle", &strategy.FedAvg{Fraction: 0.2, Selector: angles, Local: local}},
		{"four at random", &strategy.FedAvg{Fraction: 0.2, Local: local}},
	} {
		for seed := range seeds(5) {
			rotated := partition.Rotations{Of: partition.IID{Clients: 24, Seed: seed}}
			add("angles", rotated, study.HeldOut{Clients: 4, Seed: 1}, 10, s, seed)
		}
	}

	// The same on a small scale: eight clients with 600 images each, two at each angle
	pairs := selection.OnePerCluster{Labels: []int{0, 0, 1, 1, 2, 2, 3, 3}}
	few := partition.Take{Of: partition.Rotations{Of: partition.IID{Clients: 8, Seed: 1}}, Train: 600}
	for seed := range seeds(5) {
		small := func(name string, s fedkit.Strategy) { add("few at angles", few, all, 10, named{name, s}, seed) }
		small("all eight", &strategy.FedAvg{Local: local})
		small("four clusters, Reuse", &strategy.AdaptiveClustering{P: 4, SAProb: 1, Reuse: true, Local: local})
		small("clustered once", &strategy.FedAvg{Fraction: 0.5, Selector: pairs, Local: local})
		small("four at random", &strategy.FedAvg{Fraction: 0.5, Local: local})
	}
	return study.Plan(plan)
}
