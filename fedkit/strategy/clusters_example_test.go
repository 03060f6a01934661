package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// threeGroups is a federation of three groups of clients with permuted labels.
func threeGroups() *fedkit.Federation {
	d, err := datasets.GaussianMixture{Clients: 12, Groups: 3, Rows: 60, Features: 4, Permute: true}.Make()
	if err != nil {
		panic(err)
	}
	fed, err := fedkit.New(d, partition.Natural{}, model.MLP(16))
	if err != nil {
		panic(err)
	}
	return fed
}

// ariOf runs a strategy, and returns how well its clusters agree with the true groups.
func ariOf(fed *fedkit.Federation, s fedkit.Strategy, seed uint64) (ari float64) {
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 15, EvalEvery: 15, Seed: seed})
	if err != nil {
		panic(err)
	}
	return cluster.Agree(h.Last().Clusters, partition.Groups(fed.Clients)).ARI
}

var briefly = fedkit.Local{Epochs: 2, Batch: 10, LR: 0.1}

// Each client chooses the model with the lowest loss. Whether each of three groups gets its own depends on the models'
// initialization: five seeds, adjusted Rand index.
func ExampleIFCA() {
	fed := threeGroups()
	for seed := range uint64(5) {
		fmt.Printf("%.2f ", ariOf(fed, &strategy.IFCA{K: 3, Local: briefly}, seed))
	}
	// Output:
	// 0.52 1.00 0.52 0.00 0.37
}

// The clients' local models are clustered once. The number of clusters is found by silhouette.
func ExampleOneShot() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.OneShot{Local: briefly}, 0))
	// Output:
	// ARI 1.00
}

// Clusters split while their clients' updates point in different directions.
func ExampleCFL() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.CFL{Eps1: 0.4, Eps2: 0.6, Local: briefly}, 0))
	// Output:
	// ARI 1.00
}

// After five rounds, clients are clustered by their losses on each other's models.
func ExampleLCFL() {
	fmt.Printf("ARI %.2f", ariOf(threeGroups(), &strategy.LCFL{Warmup: 5, Local: briefly}, 0))
	// Output:
	// ARI 1.00
}
