package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// FedClust has FedClust again and again and once, its settings, fractions of the clients, all of MNIST, LeNet, and the paper's own
// setting.
//
// 48 clients in four groups, whose images are rotated or whose labels are permuted, eight of them unseen. A seed draws the images that
// clients hold, the initial model, the batches and the cohorts.
func FedClust() study.Plan {
	var plan list
	iid := partition.IID{Clients: 48, Seed: 1}
	worlds := []struct {
		name string
		rule partition.Rule
	}{{"rotated", partition.Rotations{Of: iid}}, {"permuted labels", partition.Relabel{Of: iid, Groups: 4, Seed: 1}}}
	local := fedkit.Local{Epochs: 2, Batch: 10, LR: 0.05}
	options := fedkit.Options{Rounds: 40, EvalEvery: 1}
	unseen := study.HeldOut{Clients: 8, Seed: 1}
	add := func(rule partition.Rule, s named, labels ...any) {
		for seed := range seeds(5) {
			world := study.World{Data: mnist, Partition: partition.Take{Of: rule, Train: 60, Test: 50, Seed: seed},
				Model: study.Of(model.MLP, 32), HoldOut: unseen}
			plan.add(world, s, options, seed, labels...)
		}
	}
	average := func(height float64) cluster.Agglomerative {
		return cluster.Agglomerative{Linkage: cluster.Average, Height: height}
	}
	both := []string{"dense1", "dense2"}

	// Both forms, clusterers, k, layers and C
	for _, w := range worlds {
		for _, s := range []named{
			{"FedAvg", &strategy.FedAvg{Local: local}},
			{"LocalOnly", &strategy.LocalOnly{Local: local}},
			{"again, Ward", &strategy.FedClust{K: 4, Local: local}},
			{"again, k-means", &strategy.FedClust{K: 4, Clusterer: cluster.KMeans{}, Local: local}},
			{"again, C = 10", &strategy.FedClust{K: 4, Every: 10, Local: local}},
			{"again, k found, C = 10", &strategy.FedClust{Every: 10, Local: local}},
			{"again, last layer", &strategy.FedClust{K: 4, Layers: []string{"dense2"}, Local: local}},
			{"again, k = 2", &strategy.FedClust{K: 2, Local: local}},
			{"again, k = 8", &strategy.FedClust{K: 8, Local: local}},
			{"again, four starts", &strategy.FedClust{K: 4, MultiStart: true, Local: local}},
			{"once, last layer", &strategy.FedClust{Once: true, Clusterer: average(0.2), Local: local}},
			{"once, all layers", &strategy.FedClust{Once: true, Layers: both, Clusterer: average(0.85), Local: local}},
		} {
			add(w.rule, s, "part", "settings", "world", w.name)
		}
	}

	// Fractions of the clients that take part in a round
	for _, w := range worlds {
		for _, R := range []float64{0.1, 0.25, 0.5} {
			for _, s := range []named{
				{"FedAvg", &strategy.FedAvg{Fraction: R, Local: local}},
				{"again, Ward", &strategy.FedClust{K: 4, Fraction: R, Local: local}},
				{"again, k-means", &strategy.FedClust{K: 4, Clusterer: cluster.KMeans{}, Fraction: R, Local: local}},
				{"again, C = 10", &strategy.FedClust{K: 4, Every: 10, Fraction: R, Local: local}},
				{"once, all layers", &strategy.FedClust{Once: true, Layers: both, Clusterer: average(0.85), Fraction: R, Local: local}},
			} {
				add(w.rule, s, "part", "fractions", "world", w.name, "R", R)
			}
		}
	}

	// All of MNIST: 32 clients with 1,500 images each, eight unseen
	rotated := partition.Rotations{Of: partition.IID{Clients: 40, Seed: 1}}
	for _, net := range []struct {
		name   string
		model  study.Model
		rounds int
	}{{"MLP-200", study.Of(model.MLP, 200), 20}, {"LeNet", study.Of(model.LeNet), 10}} {
		local := fedkit.Local{Epochs: 1, Batch: 20, LR: 0.15}
		for _, s := range []named{
			{"FedAvg", &strategy.FedAvg{Local: local}},
			{"LocalOnly", &strategy.LocalOnly{Local: local}},
			{"again, Ward", &strategy.FedClust{K: 4, Local: local}},
			{"again, k-means", &strategy.FedClust{K: 4, Clusterer: cluster.KMeans{}, Local: local}},
			{"once, last layer", &strategy.FedClust{K: 4, Once: true, Local: local}},
		} {
			for seed := range seeds(5) {
				world := study.World{Data: mnist, Partition: partition.Take{Of: rotated, Train: 1500, Test: 250, Seed: seed},
					Model: net.model, HoldOut: unseen}
				options := fedkit.Options{Rounds: net.rounds, EvalEvery: 1}
				plan.add(world, s, options, seed, "part", "all of MNIST", "net", net.name)
			}
		}
	}

	// The setting of arXiv 2403.04144: 100 clients, two of ten labels each, LeNet, 10 % of them in each of 200 rounds; and a fifth of it
	for _, part := range []struct {
		name   string
		rounds int
	}{{"paper", 200}, {"paper, 40 rounds", 40}} {
		local := fedkit.Local{Epochs: 10, Batch: 10, LR: 0.01}
		found := cluster.BestSilhouette{Of: average(0)}
		for _, s := range []named{
			{"FedAvg", &strategy.FedAvg{Fraction: 0.1, Local: local}},
			{"LocalOnly", &strategy.LocalOnly{Fraction: 0.1, Local: local}},
			{"once, last layer, k found", &strategy.FedClust{Once: true, Clusterer: found, Fraction: 0.1, Local: local}},
		} {
			for seed := range seeds(5) {
				world := study.World{Data: cifar, Partition: partition.Classes{Clients: 100, PerClient: 2, Seed: seed}, Model: study.Of(model.LeNet)}
				options := fedkit.Options{Rounds: part.rounds, EvalEvery: 1}
				plan.add(world, s, options, seed, "part", part.name)
			}
		}
	}
	return study.Plan(plan)
}
