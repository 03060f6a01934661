// Package preset has experiments as papers and toolkits have published them: data, partition, model, local work, rounds, and the numbers
// that they report beside fedkit's.
//
//	p := preset.MNIST2NN()
//	fed := must.M1(p.Trial.Federation())
//	h := must.M1(fedkit.Run(ctx, fed, p.Trial.Strategy, p.Trial.Options))
//
// On the command line, ./scripts/study mnist-2nn does it. A study of your own changes a copy.
package preset

import (
	"fmt"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Preset is a published experiment.
type Preset struct {
	Name   string // by which ./scripts/study runs it
	About  string // what it is, and what is not as it was published
	Source string // who published it, and where

	Trial study.Trial // its federation, strategy and options

	Published, Measured []Number // there, and by fedkit
}

// Number is a result.
type Number struct {
	What        string  // "rounds to 97 %"
	Value, Half float64 // the mean, and half its 95 % confidence interval; Half is 0 if there is none
	Seeds       int     // of the mean; 0 if it is not said
	By          string  // who reports it if it is not Preset.Source, or what was changed
}

// String is the number in words: "rounds to 97 %: 41.6 ± 5.1 (5 seeds)".
func (n Number) String() string {
	text := fmt.Sprintf("%s: %g", n.What, n.Value)
	if n.Half > 0 {
		text += fmt.Sprintf(" ± %g", n.Half)
	}
	var notes []string
	if n.Seeds > 0 {
		notes = append(notes, fmt.Sprintf("%d seeds", n.Seeds))
	}
	if n.By != "" {
		notes = append(notes, n.By)
	}
	if notes != nil {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return text
}

// String is what the preset is, and its numbers, in lines.
func (p Preset) String() string {
	lines := []string{p.Name + ": " + p.About, "source: " + p.Source}
	for _, n := range p.Published {
		lines = append(lines, "published  "+n.String())
	}
	for _, n := range p.Measured {
		lines = append(lines, "fedkit     "+n.String())
	}
	return strings.Join(lines, "\n")
}

// All returns all presets.
func All() []Preset {
	return []Preset{MNIST2NN(), MNISTCNN(), MNISTLogistic(), CIFAR10(), CIFAR10Silos(), FEMNIST(), CIFAR100(), Shakespeare()}
}

// What others have published. The numbers of FLUTE and Reddi for the same experiments differ, as rates, schedules and splits do.
const (
	mcMahan = "McMahan et al. 2017, arXiv 1602.05629, Table 1"
	flute   = "FLUTE's README, github.com/microsoft/msrflute"
	pfl     = "pfl-research, github.com/apple/pfl-research, benchmarks/image_classification, and arXiv 2404.06430"
	niid    = "Flower's baseline niid_bench, github.com/adap/flower, after Li et al. 2022, arXiv 2102.02079"
	reddi   = "Reddi et al. 2021, arXiv 2003.00295, Table 1, quoted second-hand"
)

// MNIST2NN is the network with two hidden layers of the paper on federated averaging.
func MNIST2NN() Preset {
	return Preset{
		Name:   "mnist-2nn",
		About:  "a network with two hidden layers of 200 units, 100 clients with 600 images each, IID; the other published number is of two shards per client, partition.Shards{Clients: 100}",
		Source: mcMahan + ", C = 0.1, E = 1, B = 10, each at its best η",
		Trial: study.Trial{World: study.World{Data: datasets.Name("mnist"), Partition: partition.IID{Clients: 100, Seed: 1}, Model: study.Of(model.MLP, 200, 200)},
			Strategy: &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Epochs: 1, Batch: 10, LR: 0.1}}, Options: fedkit.Options{Rounds: 100}},
		Published: []Number{{What: "rounds to 97 %", Value: 87}, {What: "rounds to 97 %", Value: 664, By: "two shards per client"}},
		Measured: []Number{{What: "rounds to 97 %", Value: 41.6, Half: 5.1, Seeds: 5, By: "weights drawn after He et al. 2015; notebook 01"},
			{What: "rounds to 97 %", Value: 219, By: "two shards per client, one seed"}},
	}
}

// MNISTCNN is the convolutional network of the paper on federated averaging.
func MNISTCNN() Preset {
	return Preset{
		Name:   "mnist-cnn",
		About:  "two convolutions 5×5 with 32 and 64 channels and 512 units, 100 clients with 600 images each, IID; the other published number is of two shards per client, partition.Shards{Clients: 100}",
		Source: mcMahan + ", C = 0.1, E = 5, B = 10, each at its best η",
		Trial: study.Trial{World: study.World{Data: datasets.Name("mnist"), Partition: partition.IID{Clients: 100, Seed: 1}, Model: study.Of(model.CNN)},
			Strategy: &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Epochs: 5, Batch: 10, LR: 0.1}}, Options: fedkit.Options{Rounds: 25}},
		Published: []Number{{What: "rounds to 99 %", Value: 18}, {What: "rounds to 99 %", Value: 206, By: "two shards per client"}},
		Measured: []Number{{What: "accuracy in % after 18 rounds", Value: 98.79, By: "one seed"},
			{What: "accuracy in % after 25 rounds", Value: 98.94, By: "one seed; 99 % takes more rounds with this η; notebook 01"}},
	}
}

// MNISTLogistic is logistic regression with which simulators are compared.
func MNISTLogistic() Preset {
	return Preset{
		Name: "mnist-logistic",
		About: "logistic regression, ten of 1,000 clients in each round, two digits and 60 images each; published for sizes by a power law, images standardized, " +
			"and outputs through a sigmoid before the softmax",
		Source: flute + ", for FLUTE, FedML 0.7 and Flower 1.0",
		Trial: study.Trial{World: study.World{Data: datasets.Name("mnist"), Partition: partition.Classes{Clients: 1000, Seed: 1}, Model: study.Of(model.LogisticRegression)},
			Strategy: &strategy.FedAvg{Fraction: 0.01, Local: fedkit.Local{Epochs: 1, Batch: 10, LR: 0.03}}, Options: fedkit.Options{Rounds: 100, EvalEvery: 20}},
		Published: []Number{{What: "accuracy after 100 rounds, %", Value: 81, By: "FLUTE on four GPUs"},
			{What: "accuracy after 100 rounds, %", Value: 80, By: "FLUTE on a CPU"}, {What: "seconds", Value: 86, By: "FLUTE on four GPUs"},
			{What: "seconds", Value: 200, By: "FLUTE on a CPU"}, {What: "seconds", Value: 189, By: "FedML on GPUs"}, {What: "seconds", Value: 1814, By: "Flower on a CPU"}},
	}
}

// CIFAR10 is the convolutional network with which simulators are compared.
func CIFAR10() Preset {
	return Preset{
		Name: "cifar-10",
		About: "two convolutions 3×3 with 32 and 64 channels, 128 units and dropout, 50 of 1,000 clients in each round, 50 images each, IID; published for weights " +
			"after Glorot and Bengio, and each channel standardized",
		Source: pfl + ", on an NVIDIA A100",
		Trial: study.Trial{World: study.World{Data: datasets.Name("cifar-10"), Partition: partition.IID{Clients: 1000, Seed: 1}, Model: study.Of(model.EMNISTCNN)},
			Strategy: &strategy.FedAvg{Fraction: 0.05, Local: fedkit.Local{Epochs: 1, Batch: 10, LR: 0.1}},
			Options:  fedkit.Options{Rounds: 1500, EvalEvery: 10, Keep: fedkit.Keep{Scores: fedkit.Never, Results: fedkit.Never}}},
		Published: []Number{{What: "times as fast as other simulators, at least", Value: 7}, {What: "times as fast as other simulators, at most", Value: 72}},
	}
}

// CIFAR10Silos is a small convolutional network on ten clients of unequal data, a cell of a table whose others are in the study
// 05_client_drift of the notebooks.
func CIFAR10Silos() Preset {
	return Preset{
		Name:   "cifar-10-silos",
		About:  "LeNet, ten clients with Dirichlet(0.5) of the labels; published for crops with a reflected margin instead of a gray one",
		Source: niid + ", accuracies of the best round, means over seeds",
		Trial: study.Trial{World: study.World{Data: datasets.Name("cifar-10"), Partition: partition.Dirichlet{Clients: 10, Alpha: 0.5, Redraw: true, Seed: 1}, Model: study.Of(model.UniformInit, study.Of(model.LeNet))},
			Strategy: &strategy.FedAvg{Local: fedkit.Local{Epochs: 10, Batch: 64, LR: 0.01, Optimizer: fedkit.WeightDecay{Lambda: 1e-4, Then: fedkit.Momentum{Beta: 0.9}},
				Augment: fedkit.Augment{Crop: 4, Flip: true}}},
			Options: fedkit.Options{Rounds: 50}},
		Published: []Number{{What: "accuracy in the best of 50 rounds, %", Value: 62.47}, {What: "accuracy of SCAFFOLD, %", Value: 68.08},
			{What: "accuracy of FedProx with its best μ, %", Value: 65.63}, {What: "accuracy of FedNova, %", Value: 63.89}},
	}
}

// FEMNIST is handwriting by writer, with a convolutional network.
func FEMNIST() Preset {
	return Preset{
		Name:   "femnist",
		About:  "a convolutional network, ten writers in each round; published for a sample of 3,400 writers, while LEAF's program makes one of its own",
		Source: flute,
		Trial: study.Trial{World: study.World{Data: datasets.Name("femnist"), Partition: partition.Natural{}, Model: study.Of(model.EMNISTCNN)},
			Strategy: &strategy.FedAvg{Fraction: 0.00294, Local: fedkit.Local{Epochs: 1, Batch: 20, LR: 0.1}}, Options: fedkit.Options{Rounds: 1500, EvalEvery: 50}},
		Published: []Number{{What: "accuracy after 1,500 rounds, %", Value: 83}, {What: "accuracy, %", Value: 84.9, By: reddi}},
	}
}

// CIFAR100 is CIFAR-100 by Pachinko, with a residual network.
func CIFAR100() Preset {
	return Preset{
		Name:   "cifar-100",
		About:  "ResNet-18 with group normalization, ten of 500 clients in each round; images are not cropped or mirrored at random",
		Source: flute,
		Trial: study.Trial{World: study.World{Data: datasets.Name("cifar-100"), Partition: partition.Pachinko{Seed: 1}, Model: study.Of(model.ResNet18)},
			Strategy: &strategy.FedAvg{Fraction: 0.02, Local: fedkit.Local{Epochs: 1, Batch: 20, LR: 0.1}}, Options: fedkit.Options{Rounds: 4000, EvalEvery: 100}},
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
		Trial: study.Trial{World: study.World{Data: datasets.Name("shakespeare"), Partition: partition.Natural{}, Model: study.Of(model.LSTM, 80, 8, 256, 256)},
			Strategy: &strategy.FedAvg{Fraction: 0.014, Local: fedkit.Local{Epochs: 1, Batch: 4, LR: 0.8}}, Options: fedkit.Options{Rounds: 1200, EvalEvery: 50}},
		Published: []Number{{What: "accuracy after 1,200 rounds, %", Value: 57}, {What: "accuracy of FedAvg after 1,200 rounds, %", Value: 56.9, By: reddi}},
	}
}
