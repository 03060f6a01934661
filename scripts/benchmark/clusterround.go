package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// clusterRounds times rounds of 100 clients × 600 examples with 109,386 parameters, of which every second one clusters the clients.
func clusterRounds() {
	data := must.M1(datasets.GaussianMixture{Clients: 100, Rows: 600, TestRows: 1, Features: 784, Classes: 10}.Make())
	fed := must.M1(fedkit.New(data, partition.Natural{}, model.MLP(128, 64)))
	result := map[string]any{"peer": "fedkit", "task": "cluster-round"}
	for name, by := range map[string]cluster.Clusterer{"ward": cluster.Agglomerative{}, "k-means": cluster.KMeans{}, "spectral": cluster.Spectral{}} {
		s := &strategy.FedClust{K: 4, Clusterer: by, Every: 2, Local: fedkit.Local{Batch: 32, LR: 0.1}}
		h := must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 40, EvalEvery: 40}))
		var without, adds []float64
		for i := 4; i < len(h.Rounds); i += 2 { // rounds 5, 7, … cluster, 6, 8, … do not
			with, next := 1000*h.Rounds[i].Seconds, 1000*h.Rounds[i+1].Seconds
			without, adds = append(without, next), append(adds, 100*(with/next-1))
		}
		slices.Sort(without)
		slices.Sort(adds)
		result[name+"_round_ms"], result[name+"_adds_percent"] = without[len(without)/2], adds[len(adds)/2]
	}
	must.M(json.NewEncoder(os.Stdout).Encode(result))
}
