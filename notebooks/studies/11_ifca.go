package studies

import (
	"fmt"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/notebooks/examples"
)

// IFCA has IFCA on Rotated MNIST at the sizes of the paper, of its authors' code, and of a comparison, and on its synthetic data: 992 runs.
//
// Local work is ten steps of full-batch gradient descent with η = 0.1 everywhere, and networks start as PyTorch's do.
func IFCA() study.Plan {
	var plan list
	steps := fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.1}
	options := func(rounds, every int) fedkit.Options {
		return fedkit.Options{Rounds: rounds, EvalEvery: every, Keep: totals}
	}
	world := func(rule partition.Rule) study.World {
		return study.World{Data: mnist, Partition: rule, Model: study.Of(model.UniformInit, study.Of(model.MLP, 200))}
	}
	ifca := named{"IFCA", &strategy.IFCA{K: 4, Local: steps}}
	best, oneShot := named{"best of 3", &strategy.IFCA{K: 4, Restarts: 3, Local: steps}}, named{"one-shot", &strategy.OneShot{K: 4, Local: steps}}
	lcfl, cfl := named{"LCFL", &strategy.LCFL{K: 4, Local: steps}}, named{"CFL", &strategy.CFL{Eps1: 0.35, Eps2: 0.75, First: 3, Local: steps}}
	fedavg, alone := named{"FedAvg", &strategy.FedAvg{Local: steps}}, named{"alone", &strategy.LocalOnly{Local: steps}}

	// 40 clients with 50 images each, ten of each angle; eight of them are unseen. Option I takes gradients, in 100 rounds.
	for seed := range seeds(5) {
		w := world(partition.Take{Of: partition.Rotations{Of: partition.IID{Clients: 40}}, Train: 50, Seed: seed})
		w.HoldOut = study.HeldOut{Clients: 8, Seed: 1}
		for _, s := range []named{
			ifca,
			{"IFCA, k = 2", &strategy.IFCA{K: 2, Local: steps}},
			{"IFCA, k = 6", &strategy.IFCA{K: 6, Local: steps}},
			{"IFCA, k = 8", &strategy.IFCA{K: 8, Local: steps}},
			{"IFCA, best of 3", best.strategy},
			{"IFCA, best of 5", &strategy.IFCA{K: 4, Restarts: 5, Local: steps}},
			{"IFCA, half", &strategy.IFCA{K: 4, Fraction: 0.5, Local: steps}},
			{"option I", &strategy.IFCA{K: 4, Gradients: true}},
			{"option I, γ = 1", &strategy.IFCA{K: 4, Gradients: true, Gamma: 1}},
			{"option I, stochastic", &strategy.IFCA{K: 4, Gradients: true, Gamma: 1, Batch: 10}},
			{"option I, half, m = |S|", &strategy.IFCA{K: 4, Gradients: true, Gamma: 1, Fraction: 0.5}},
			{"option I, half, m = M", &strategy.IFCA{K: 4, Gradients: true, Gamma: 1, Fraction: 0.5, AllClients: true}},
			oneShot, lcfl, cfl, {"CFL, no split", &strategy.CFL{Eps1: fedkit.Zero, Local: steps}},
			fedavg, alone,
		} {
			rounds := 30
			if strings.HasPrefix(s.name, "option I") {
				rounds = 100
			}
			plan.add(w, s, options(rounds, 0), seed, "part", "comparison")
		}
	}

	// Four more seeds of the small part, which computes seed 0: fewer hidden units and rounds
	small := world(partition.Take{Of: partition.Rotations{Of: partition.IID{Clients: 40, Seed: 1}}, Train: 50, Seed: 1})
	small.Model, small.HoldOut = study.Of(model.UniformInit, study.Of(model.MLP, 32)), study.HeldOut{Clients: 8, Seed: 1}
	for seed := range seeds(4) {
		for _, s := range []named{ifca, oneShot, lcfl, cfl, fedavg, alone} {
			plan.add(small, s, options(10, 1), seed, "part", "small")
		}
		plan.add(small, best, options(19, 1), seed, "part", "small")
	}

	// The size at which the authors' code was run
	for seed := range seeds(5) {
		iid := partition.IID{Clients: 60, Seed: seed}
		w := world(partition.Take{Of: partition.Rotations{Of: iid, FullCopies: true}, Train: 50, Seed: seed})
		code := options(60, 2)
		code.ChooseOnTest = true
		plan.add(w, ifca, code, seed, "part", "m = 240")
		plan.add(w, fedavg, code, seed, "part", "m = 240")
		plan.add(w, alone, options(10, 2), seed, "part", "m = 240")
	}

	// Machines that stay alone, with as many images as in the paper's table: rotations are the same problem to this network.
	for seed := range seeds(5) {
		for _, n := range []int{50, 100, 200} {
			w := world(partition.Take{Of: partition.IID{Clients: 20, Seed: seed}, Train: n, Seed: seed})
			plan.add(w, alone, options(300, 10), seed, "part", "alone", "n", n)
		}
	}

	// The paper's size: all 60,000 images at each angle, over 300 machines. A round is 2.3 TFLOP. Three seeds, since a run takes over an hour here.
	// A run of more rounds goes on from that of fewer, if one call computes both.
	for seed := range seeds(3) {
		for _, rounds := range []int{10, 30, 100, 300} {
			w := world(partition.Rotations{Of: partition.IID{Clients: 300, Seed: seed}, FullCopies: true})
			plan.add(w, ifca, options(rounds, 5), seed, "part", "m = 1200", "rounds", rounds)
			plan.add(w, fedavg, options(rounds, 5), seed, "part", "m = 1200", "rounds", rounds)
		}
	}

	// The other two columns of the paper's table: the same images over 2,400 machines with 100 each, and over 4,800 with 50.
	for seed := range seeds(5) {
		for _, m := range []int{2400, 4800} {
			w := world(partition.Rotations{Of: partition.IID{Clients: m / 4, Seed: seed}, FullCopies: true})
			plan.add(w, ifca, options(300, 25), seed, "part", fmt.Sprint("m = ", m))
			plan.add(w, fedavg, options(300, 25), seed, "part", fmt.Sprint("m = ", m))
		}
	}

	// A part of the synthetic figure, for two groups, with a fifth of its 1,000 features and of its 50 to 200 examples per machine, so that their
	// ratio is the paper's. Ten draws of the data and the best of five starts of each, instead of 40 and ten; one γ instead of the best of
	// three, with which 50 rounds are enough, instead of 300. As there, a run has found the groups if its models end within 0.6 σ of the
	// true ones: then the loss on test rows is less than 1.36 σ²/2, as features are standard normal.
	for seed := range seeds(50) {
		add := func(m, n int, r, σ float64) {
			w := study.World{Partition: partition.Natural{}, Model: study.Of(examples.Coins, study.Of(model.LinearRegression)),
				Data: datasets.LeastSquares{Clients: m, Rows: n, TestRows: 100, Features: 200, Groups: 2, Noise: σ, Separation: r, Seed: (seed + 4) / 5}}
			o := options(50, 50)
			o.Keep.Clusters = 50
			plan.add(w, named{"IFCA", &strategy.IFCA{K: 2, Gradients: true, Gamma: 1}}, o, seed, "part", "synthetic", "m", m, "n", n, "r", r, "σ", σ)
		}
		for _, m := range []int{50, 100, 200} {
			for _, n := range []int{10, 20, 40} {
				add(m, n, 0.25, 0.1)
			}
		}
		for _, σ := range []float64{0.1, 0.4} {
			for _, r := range []float64{0.1, 0.25, 0.5, 1} {
				if r != 0.25 || σ != 0.1 { // it is there
					add(100, 20, r, σ)
				}
			}
		}
	}
	return study.Plan(plan)
}
