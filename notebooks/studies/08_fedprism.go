package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedPRISM has Fed-PRISM with five clusterers where they differ, its knobs one by one, all of MNIST, and LeNet.
//
// 32 clients in four groups, whose images are rotated by 0°, 90°, 180° and 270°, eight of them unseen. A seed draws the images that
// clients hold, the initial model, the batches and the cohorts.
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
	return study.Plan(plan)
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
