package worker_test

import (
	"context"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
)

// A run on two workers of this machine has the same bytes as one without: worker.Main comes first in main.
func ExampleLocal() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 40}, model.MLP(32)))
	w := must.M1(worker.Local(context.Background(), 2))
	defer w.Close()
	var models [][]float32
	for _, on := range []fedkit.Workers{nil, w} {
		avg := &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 10, LR: 0.1}}
		must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 3, Workers: on}))
		models = append(models, must.M1(avg.State.X.Host()))
	}
	fmt.Println(fed.Task.Dim(), "parameters, the same bits:", slices.Equal(models[0], models[1]))
	// Output: 2410 parameters, the same bits: true
}
