package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// WhichClustering has clustered algorithms on six kinds of skew: all of the small digits for 24 clients, and all of MNIST for 100; and
// with convolutions, the problem in which groups contradict each other most.
func WhichClustering() study.Plan {
	var plan list
	small, large := skews(24, 60, 15), skews(100, 600, 100)
	for _, size := range []struct {
		name   string
		data   study.Data
		model  study.Model
		unseen int
		skews  []skew
		local  fedkit.Local
		rounds int
	}{
		{"digits", digits, study.Of(model.MLP, 32), 4, small, fedkit.Local{Epochs: 2, Batch: 20, LR: 0.2}, 15},
		{"MNIST", mnist, study.Of(model.MLP, 100), 8, large, fedkit.Local{Epochs: 1, Batch: 50, LR: 0.1}, 10},
		{"MNIST, LeNet", mnist, study.Of(model.LeNet), 8, large[1:2], fedkit.Local{Epochs: 1, Batch: 50, LR: 0.1}, 10},
	} {
		for _, skew := range size.skews {
			world := study.World{Data: size.data, Partition: skew.rule, Model: size.model, HoldOut: study.HeldOut{Clients: size.unseen, Seed: 1}}
			for _, s := range []named{
				{"FedAvg", &strategy.FedAvg{Local: size.local}},
				{"LocalOnly", &strategy.LocalOnly{Local: size.local}},
				{"FedPRISM", &strategy.FedPRISM{K: 4, Center: true, Temperature: 0.1, Local: size.local}},
				{"FedClust", &strategy.FedClust{K: 4, Once: true, Local: size.local}},
				{"IFCA", &strategy.IFCA{K: 4, Local: size.local}},
				{"IFCA, best of 5", &strategy.IFCA{K: 4, Restarts: 5, Local: size.local}},
				{"OneShot", &strategy.OneShot{K: 4, Local: size.local}},
				{"LCFL", &strategy.LCFL{K: 4, Local: size.local}},
				{"CFL", &strategy.CFL{Eps1: 0.3, Eps2: 0.6, Local: size.local}},
				{"FeSEM", &strategy.FeSEM{K: 4, Local: size.local}},
				{"FedAC", &strategy.FedAC{K: 4, Local: size.local}},
				{"FedCluster", &strategy.FedCluster{K: 4, Local: size.local}},
				{"FedSC", &strategy.FedSC{K: 4, Local: size.local}},
				{"AdaptiveClustering", &strategy.AdaptiveClustering{Local: size.local}},
			} {
				for seed := range seeds(5) {
					options := fedkit.Options{Rounds: size.rounds, EvalEvery: 1, Keep: totals}
					if s.name == "IFCA, best of 5" {
						options.Rounds += 12 // in which the other four sets are tried
					}
					plan.add(world, s, options, seed, "part", size.name, "skew", skew.name)
				}
			}
		}
	}
	return study.Plan(plan)
}

// skew is a way in which clients differ.
type skew struct {
	name string
	rule partition.Rule
}

// skews are six ways. With different labels, clients have so many examples each.
func skews(clients, train, test int) []skew {
	iid := partition.IID{Clients: clients, Seed: 1}
	sets := [][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}}
	return []skew{
		{"labels", partition.Take{Of: partition.Classes{Clients: clients, Sets: sets}, Train: train, Test: test}},
		{"rotation", partition.Rotations{Of: iid}},
		{"permuted", partition.Relabel{Of: iid, Groups: 4, Seed: 2}},
		{"noise", partition.Noise{Of: iid, Std: []float64{0, 0.2, 0.4, 0.8}, Seed: 1}},
		{"sizes", partition.Quantity{Clients: clients, Power: 1, Seed: 1}},
		{"none", iid},
	}
}
