package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedPRISM has Fed-PRISM with five clusterers where they differ, its knobs one by one, all of MNIST, LeNet, and what its author planned:
// 895 runs.
//
// In all but the last, 32 clients in four groups, whose images are rotated by 0°, 90°, 180° and 270°, eight of them unseen. A seed
// draws the images that clients hold, the initial model, the batches and the cohorts.
func FedPRISM() study.Plan {
	var plan list
	world := func(clients, train, test int, net study.Model, seed uint64) study.World {
		rotated := partition.Rotations{Of: partition.IID{Clients: clients, Seed: 1}}
		return study.World{Data: mnist, Partition: partition.Take{Of: rotated, Train: train, Test: test, Seed: seed}, Model: net,
			HoldOut: study.HeldOut{Clients: 8, Seed: 1}}
	}
	small := study.Of(model.MLP, 32)
	local := fedkit.Local{Epochs: 2, Batch: 20, LR: 0.15}
	options := fedkit.Options{Rounds: 30, EvalEvery: 1}

	// Each clusterer, with soft weights and hard ones, with few images and with more
	for _, images := range []int{10, 20, 40} {
		for _, s := range withoutPRISM(local) {
			for seed := range seeds(5) {
				plan.add(world(32, images, 50, small, seed), s, options, seed, "part", "clusterers", "images", images)
			}
		}
		for _, s := range prisms(local) {
			hard := s.FedPRISM
			hard.M = 1
			for _, w := range []named{{"soft", &s.FedPRISM}, {"hard", &hard}} {
				for seed := range seeds(5) {
					labels := []any{"part", "clusterers", "images", images, "weights", w.name}
					plan.add(world(32, images, 50, small, seed), named{s.name, w.strategy}, options, seed, labels...)
				}
			}
		}
	}

	// The knobs one at a time, with 20 images; runs with the values above are among the clusterers.
	for _, s := range prisms(local) {
		if s.name != "Ward" && s.name != "covariance" {
			continue
		}
		for _, knob := range []struct {
			name   string
			values []float64
			set    func(s *strategy.FedPRISM, x float64)
		}{
			{"m", []float64{2, 3}, func(s *strategy.FedPRISM, x float64) { s.M = int(x) }}, // 1 is above, as hard
			{"α", []float64{0, 0.5, 0.75, 1}, func(s *strategy.FedPRISM, x float64) { s.Alpha = zero(x) }},
			{"C", []float64{1, 5, 10, 30}, func(s *strategy.FedPRISM, x float64) { s.Every = int(x) }},
			{"K", []float64{2, 3, 6, 8}, func(s *strategy.FedPRISM, x float64) { s.K, s.M = int(x), int(x) }},
			{"R", []float64{0.25, 0.5, 0.75}, func(s *strategy.FedPRISM, x float64) { s.Fraction = x }},
		} {
			for _, x := range knob.values {
				set := s.FedPRISM
				knob.set(&set, x)
				for seed := range seeds(5) {
					plan.add(world(32, 20, 50, small, seed), named{s.name, &set}, options, seed, "part", "knobs", "knob", knob.name, knob.name, x)
				}
			}
		}
	}

	// 32 clients with 1,500 images each, eight unseen
	local.Epochs = 1
	for _, net := range []struct {
		name   string
		model  study.Model
		rounds int
	}{{"MLP-200", study.Of(model.MLP, 200), 20}, {"LeNet", study.Of(model.LeNet), 10}} {
		all := withoutPRISM(local)
		for _, s := range prisms(local) {
			all = append(all, named{s.name, &s.FedPRISM})
		}
		for _, s := range all {
			for seed := range seeds(5) {
				options := fedkit.Options{Rounds: net.rounds, EvalEvery: 1}
				plan.add(world(40, 1500, 250, net.model, seed), s, options, seed, "part", "all of MNIST", "net", net.name)
			}
		}
	}
	plan.author("author", cifar, 5, partitions, configurations())
	plan.author("author, MNIST", mnist, 5, partitions, configurations())
	plan.author("author's program", cifar, 5, partitions[2:3], programs())
	return study.Plan(plan)
}

// author adds the configurations in every partition, for one seed after the other, as the author of Fed-PRISM planned them: LeNet, 100
// clients, a tenth of them in each of 100 rounds. His plan has Fashion-MNIST where MNIST is here.
func (l *list) author(part string, data study.Data, n uint64, of []dealt, all []named) {
	options := fedkit.Options{Rounds: 100, EvalEvery: 5, Keep: totals}
	net := study.Of(model.UniformInit, study.Of(model.LeNet)) // as PyTorch begins
	for seed := range seeds(n) {
		for _, p := range of {
			for _, s := range all {
				l.add(study.World{Data: data, Partition: p.rule(seed), Model: net}, s, options, seed, "part", part, "partition", p.name)
			}
		}
	}
}

// dealt is a partition by seed, with its name.
type dealt struct {
	name string
	rule func(seed uint64) partition.Rule
}

// partitions are those of the plan. Test rows are dealt in the proportions of the training rows.
var partitions = []dealt{
	{"Dirichlet 0.5", dirichlet(0.5)},
	{"Dirichlet 0.3", dirichlet(0.3)},
	{"Dirichlet 0.1", dirichlet(0.1)},
	{"two shards", func(seed uint64) partition.Rule { return partition.Shards{Clients: 100, Seed: seed} }},
}

func dirichlet(alpha float64) func(seed uint64) partition.Rule {
	return func(seed uint64) partition.Rule {
		return partition.Dirichlet{Clients: 100, Alpha: alpha, MinTrain: 10, Redraw: true, Seed: seed}
	}
}

// tenEpochs is the local work of the plan.
var tenEpochs = fedkit.Local{Epochs: 10, Batch: 32, LR: 0.01, Optimizer: fedkit.Momentum{Beta: 0.9}}

// authorsPrisms are the clusterers of the plan, with fixed α and K 5, m 2, C 10, α 0.5.
func authorsPrisms() (all []prism) {
	for _, s := range prisms(tenEpochs) {
		if s.name != "Ward" {
			s.FedPRISM = strategy.FedPRISM{K: 5, M: 2, Every: 10, Alpha: 0.5, Fraction: 0.1, Clusterer: s.Clusterer, Updates: s.Updates, Local: tenEpochs}
			all = append(all, s)
		}
	}
	return all
}

// configurations are the eleven of the plan, by the formulas of its document: FedAvg and FedClust weigh clients by their examples.
func configurations() []named {
	all := []named{
		{"FedAvg", &strategy.FedAvg{Fraction: 0.1, Local: tenEpochs}},
		{"LocalOnly", &strategy.LocalOnly{Fraction: 0.1, Local: tenEpochs}},
		{"FedClust", &strategy.FedClust{K: 5, Clusterer: cluster.KMeans{}, Fraction: 0.1, Local: tenEpochs}},
	}
	for _, s := range authorsPrisms() {
		adaptive := s.FedPRISM
		adaptive.AlphaStep = 0.05
		all = append(all, named{s.name, &s.FedPRISM}, named{s.name + ", adaptive α", &adaptive})
	}
	return all
}

// programs are two of them as the author's program computes them, which averages models: see strategy.FedPRISM.
func programs() (all []named) {
	for _, s := range authorsPrisms() {
		if s.Average, s.AlphaStep = true, 0.05; s.name == "covariance" {
			s.Clusterer = cluster.Spectral{Affinity: cluster.ShiftedCosine{}}
		}
		if s.name == "k-means" || s.name == "covariance" {
			all = append(all, named{s.name + ", averaged models", &s.FedPRISM})
		}
	}
	return all
}

// withoutPRISM are what the clusterers are compared with.
func withoutPRISM(local fedkit.Local) []named {
	return []named{
		{"FedAvg", &strategy.FedAvg{Local: local}},
		{"LocalOnly", &strategy.LocalOnly{Local: local}},
		{"as written", &strategy.FedPRISM{K: 4, Every: 3, Alpha: 0.25, Local: local}},
	}
}

// prism is Fed-PRISM with a clusterer.
type prism struct {
	name string
	strategy.FedPRISM
}

// prisms are the five clusterers.
func prisms(local fedkit.Local) []prism {
	by := func(c cluster.Clusterer, updates bool) strategy.FedPRISM {
		return strategy.FedPRISM{K: 4, M: 4, Every: 3, Alpha: 0.25, Center: true, Temperature: 0.3, Fraction: 1, Clusterer: c,
			Updates: updates, Local: local}
	}
	return []prism{
		{"k-means", by(nil, false)},
		{"Ward", by(cluster.Agglomerative{}, false)},
		{"average", by(cluster.Agglomerative{Linkage: cluster.Average}, false)},
		{"single", by(cluster.Agglomerative{Linkage: cluster.Single}, false)},
		{"covariance", by(cluster.Spectral{}, true)},
	}
}
