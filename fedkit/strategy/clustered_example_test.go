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

// turned are digits in two groups of clients, one of them rotated by 180°; two clients are held out.
func turned() *fedkit.Federation {
	fed, err := fedkit.New(datasets.Digits(), partition.Rotations{Of: partition.IID{Clients: 14, Seed: 1}, Degrees: []int{0, 180}}, model.MLP(32))
	if err == nil {
		fed, err = fed.HoldOut(2, 1)
	}
	if err != nil {
		panic(err)
	}
	return fed
}

func show(s fedkit.Strategy) {
	h, err := fedkit.Run(context.Background(), turned(), s, fedkit.Options{Rounds: 20, EvalEvery: 20})
	if err != nil {
		panic(err)
	}
	last := h.Last()
	fmt.Println(last.Clustering.Count, "clusters, ARI", last.Clustering.ARI, last.Mean().Accuracy > 0.82, last.MeanUnseen().Accuracy > 0.82)
}

// The cohort is clustered in every round, or all clients once by their last layers, as in the paper. The number of clusters
// is found.
func ExampleFedClust() {
	local := fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}
	show(&strategy.FedClust{Local: local})
	show(&strategy.FedClust{Once: true, Local: local, Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: 0.5}})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// The five clusterers of Fed-PRISM.
func ExampleFedPRISM() {
	local := fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}
	for _, linkage := range []cluster.Linkage{cluster.Ward, cluster.Average, cluster.Single} {
		show(&strategy.FedPRISM{K: 2, M: 1, Alpha: 0.1, Center: true, Local: local, Clusterer: cluster.Agglomerative{Linkage: linkage}})
	}
	show(&strategy.FedPRISM{K: 2, M: 1, Alpha: 0.1, Center: true, Local: local, Clusterer: cluster.KMeans{}})
	show(&strategy.FedPRISM{K: 2, M: 1, Alpha: 0.1, Updates: true, Local: local, Clusterer: cluster.Spectral{}})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// Each client is assigned to the nearest of two centers.
func ExampleFeSEM() {
	show(&strategy.FeSEM{K: 2, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}})
	// Output:
	// 2 clusters, ARI 1 true true
}
