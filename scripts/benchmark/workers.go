package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/stat"
)

// workersAdd compares rounds of FedAvg in this process and on one worker with all processors, in turn.
func workersAdd() {
	begin := time.Now()
	w := must.M1(worker.Local(context.Background(), 1))
	defer w.Close()
	fmt.Printf("a worker starts in %.2f s\n\n| a round of | calls | here, ms | on a worker, ms | adds, ms | per call |\n|---|---|---|---|---|---|\n", time.Since(begin).Seconds())
	const rounds = 12
	compare := func(name string, clients int, fed *fedkit.Federation, local fedkit.Local) {
		avg := &strategy.FedAvg{Fraction: float64(clients) / float64(fed.Size()), Local: local}
		ms := func(seed uint64, on fedkit.Workers) float64 { // a round's median, without the first, which may compile, and the last, which is evaluated
			h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: rounds, EvalEvery: rounds, Seed: seed, Workers: on}))
			var all []float64
			for _, r := range h.Rounds[1 : rounds-1] {
				all = append(all, 1000*r.Seconds)
			}
			return quantile(0.5, all)
		}
		var here, there, adds, each []float64
		calls := (clients + 15) / 16
		for turn := range uint64(9) {
			if a, b := ms(turn, nil), ms(turn, w); turn > 0 {
				here, there, adds, each = append(here, a), append(there, b), append(adds, b-a), append(each, (b-a)/float64(calls))
			}
		}
		fmt.Printf("| %s | %d | %s | %s | %s | %s |\n", name, calls, quartiles(here), quartiles(there), quartiles(adds), quartiles(each))
	}
	small := must.M1(fedkit.New(must.M1(datasets.GaussianMixture{Clients: 512, Rows: 32, TestRows: 1}.Make()), partition.Natural{}, model.MLP(64)))
	for _, clients := range []int{16, 64, 256, 512} { // whose model has some 700 parameters
		compare(fmt.Sprintf("%d small clients", clients), clients, small, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1})
	}
	mnist := must.M1(fedkit.New(must.M1(datasets.MNIST()), partition.IID{Clients: 100}, model.MLP(128, 64)))
	for _, clients := range []int{10, 100} {
		compare(fmt.Sprintf("mnist-mlp, %d clients", clients), clients, mnist, fedkit.Local{Steps: 18, Batch: 32, LR: 0.1})
	}
}

func quantile(p float64, values []float64) float64 {
	return stat.Quantile(p, stat.LinInterp, slices.Sorted(slices.Values(values)), nil)
}

// quartiles formats the median with the quartiles.
func quartiles(values []float64) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", quantile(0.5, values), quantile(0.25, values), quantile(0.75, values))
}
