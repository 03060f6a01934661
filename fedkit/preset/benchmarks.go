package preset

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Their numbers for the same experiments differ, as rates, schedules and splits do.
const (
	flute = "FLUTE's README, github.com/microsoft/msrflute"
	reddi = "Reddi et al. 2021, arXiv 2003.00295, Table 1, quoted second-hand"
)

// FEMNIST is handwriting by writer, with a convolutional network.
func FEMNIST() Preset {
	return Preset{
		Name:   "femnist",
		About:  "a convolutional network, ten writers in each round; published for a sample of 3,400 writers, while LEAF's program makes one of its own",
		Source: flute,
		Trial: study.Trial{
			World:    study.World{Data: datasets.Name("femnist"), Partition: partition.Natural{}, Model: study.Of(model.EMNISTCNN)},
			Strategy: &strategy.FedAvg{Fraction: 0.00294, Local: fedkit.Local{Epochs: 1, Batch: 20, LR: 0.1}},
			Options:  fedkit.Options{Rounds: 1500, EvalEvery: 50},
		},
		Published: []Number{{What: "accuracy after 1,500 rounds, %", Value: 83}, {What: "accuracy, %", Value: 84.9, By: reddi}},
	}
}

// CIFAR100 is CIFAR-100 by Pachinko, with a residual network.
func CIFAR100() Preset {
	return Preset{
		Name:   "cifar-100",
		About:  "ResNet-18 with group normalization, ten of 500 clients in each round; images are not cropped or mirrored at random",
		Source: flute,
		Trial: study.Trial{
			World:    study.World{Data: datasets.Name("cifar-100"), Partition: partition.Pachinko{Seed: 1}, Model: study.Of(model.ResNet18)},
			Strategy: &strategy.FedAvg{Fraction: 0.02, Local: fedkit.Local{Epochs: 1, Batch: 20, LR: 0.1}},
			Options:  fedkit.Options{Rounds: 4000, EvalEvery: 100},
		},
		Published: []Number{{What: "accuracy after 4,000 rounds, %", Value: 33.5, By: "33 to 34, by the framework"},
			{What: "accuracy of FedAvg after 4,000 rounds, %", Value: 44.7, By: reddi},
			{What: "accuracy of FedAdam after 4,000 rounds, %", Value: 52.5, By: reddi}, {What: "accuracy of FedYogi after 4,000 rounds, %", Value: 52.4, By: reddi}},
	}
}

// Shakespeare is the next character of LEAF's Shakespeare by role, with a recurrent network.
func Shakespeare() Preset {
	return Preset{
		Name:   "shakespeare",
		About:  "two layers of 256 LSTM units, ten roles in each round; published for 715 roles, and a label at each character, while LEAF's files have one for each 80",
		Source: flute,
		Trial: study.Trial{
			World:    study.World{Data: datasets.Name("shakespeare"), Partition: partition.Natural{}, Model: study.Of(model.LSTM, 80, 8, 256, 256)},
			Strategy: &strategy.FedAvg{Fraction: 0.014, Local: fedkit.Local{Epochs: 1, Batch: 4, LR: 0.8}},
			Options:  fedkit.Options{Rounds: 1200, EvalEvery: 50},
		},
		Published: []Number{{What: "accuracy after 1,200 rounds, %", Value: 57}, {What: "accuracy of FedAvg after 1,200 rounds, %", Value: 56.9, By: reddi}},
	}
}
