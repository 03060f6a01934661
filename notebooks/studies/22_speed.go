package studies

import (
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/study"
)

// Speed has the experiments with which simulators are compared, from start to end. A part is a preset.
func Speed() study.Plan {
	var plan list
	for seed := range seeds(5) {
		for _, p := range []preset.Preset{preset.MNISTLogistic(), preset.CIFAR10()} {
			plan.add(p.Trial.World, named{"FedAvg", p.Trial.Strategy}, p.Trial.Options, seed, "part", p.Name)
		}
	}
	return study.Plan(plan)
}
