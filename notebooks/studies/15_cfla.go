package studies

import (
	"cmp"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/notebooks/examples"
)

// CFLA has the table of CFLA 1.0.4, a Python package of clustered algorithms, with five seeds. Two of them have each algorithm at four rates,
// the others at the rate that the validation rows of these two choose.
//
// As in its experiments/scripts: 50 clients in three groups of classes, which overlap; a fifth of them per round, at random; three epochs
// on a fifth of a client's images, in batches of 32; 100 rounds. Otherwise:
//
//	rates     0.01 to 0.3, where its table has 0.01 for all. Validation rows are the other four fifths of a client's images
//	clusters  three where an algorithm takes a number, where its FeSEM and CGPFL have ten; only HCFL finds its own
//	start     k different models, or one and k-means of the first update, where all of its centers start as one model
//	scores    on test images of a client's classes, where its are on the images that it does not train on
//	images    each is one client's, where its classes 4 and 7 are dealt to both of their groups
//	LeNet     with ReLU, max pooling and no padding, where its has tanh, average pooling and padding
func CFLA() study.Plan {
	var plan list
	chosen := map[string]float64{"CGPFL": 0.03, "LCFed": 0.03, "HCFL": 0.03} // of the others 0.1
	options := fedkit.Options{Rounds: 100, EvalEvery: 10, Keep: totals}
	for seed := range seeds(5) {
		world := study.World{Data: mnist, Model: study.Of(model.LeNet), Partition: partition.Validation{Share: 0.8, Seed: seed, Of: partition.Classes{
			Clients: 50, Sizes: []int{18, 17, 15}, Sets: [][]int{{0, 1, 2, 3, 4}, {4, 5, 6, 7}, {7, 8, 9}}, Seed: seed}}}
		for _, rate := range []float64{0.01, 0.03, 0.1, 0.3} {
			l := fedkit.Local{Epochs: 3, Batch: 32, LR: rate}
			for _, s := range []named{
				{"FedAvg", &strategy.FedAvg{Fraction: 0.2, Local: l}},
				{"LocalOnly", &strategy.LocalOnly{Fraction: 0.2, Local: l}},
				{"IFCA", &strategy.IFCA{K: 3, Fraction: 0.2, Local: l}},
				{"IFCA, best of 5", &strategy.IFCA{K: 3, Restarts: 5, Fraction: 0.2, Local: l}},
				{"FLHC", &strategy.FLHC{K: 3, Warmup: 5, Cosine: true, Fraction: 0.2, Local: l}},
				{"FeSEM", &strategy.FeSEM{K: 3, Fraction: 0.2, Local: l}},
				{"FedGroup", &examples.FedGroup{K: 3, Fraction: 0.2, Local: l}},
				{"CGPFL", &examples.CGPFL{K: 3, Fraction: 0.2, Local: l}},
				{"LCFed", &examples.LCFed{K: 3, Fraction: 0.2, Local: l}},
				{"HCFL", &examples.HCFL{Fraction: 0.2, Local: l}},
			} {
				if seed == 1 || seed == 3 || rate == cmp.Or(chosen[s.name], 0.1) {
					plan.add(world, s, options, seed, "rate", rate)
				}
			}
		}
	}
	return study.Plan(plan)
}
