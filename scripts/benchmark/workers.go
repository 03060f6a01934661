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

// load is rounds of FedAvg, as workers see them.
type load struct {
	name     string
	calls    int // per round
	fed      *fedkit.Federation
	fraction float64
	local    fedkit.Local
}

// seconds is the median of a round, without the first, which may compile, and the last, which is evaluated.
func (l *load) seconds(seed uint64, on fedkit.Workers) float64 {
	const rounds = 12
	var all []float64
	for h, err := range fedkit.Rounds(context.Background(), l.fed, &strategy.FedAvg{Fraction: l.fraction, Local: l.local}, fedkit.Options{Rounds: rounds, EvalEvery: rounds, Seed: seed, Workers: on}) {
		must.M(err)
		if n := len(h.Rounds); n > 1 && n < rounds {
			all = append(all, h.Last().Seconds)
		}
	}
	slices.Sort(all)
	return stat.Quantile(0.5, stat.LinInterp, all, nil)
}

// workersAdd compares rounds in this process and on one worker with all processors, in turn.
func workersAdd() {
	mix := must.M1(datasets.GaussianMixture{Clients: 512, Rows: 32, TestRows: 1}.Make())
	small := must.M1(fedkit.New(mix, partition.Natural{}, model.MLP(64)))
	mnist := must.M1(fedkit.New(must.M1(datasets.MNIST()), partition.IID{Clients: 100}, model.MLP(128, 64)))
	var loads []load
	for _, calls := range []int{1, 4, 16, 32} { // of 16 clients, whose model has some 700 parameters
		loads = append(loads, load{fmt.Sprintf("%d small clients", 16*calls), calls, small, float64(calls) / 32, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}})
	}
	for _, clients := range []int{10, 100} {
		loads = append(loads, load{fmt.Sprintf("mnist-mlp, %d clients", clients), (clients + 15) / 16, mnist, float64(clients) / 100, fedkit.Local{Steps: 18, Batch: 32, LR: 0.1}})
	}
	begin := time.Now()
	w := must.M1(worker.Local(context.Background(), 1))
	defer w.Close()
	fmt.Printf("a worker starts in %.2f s\n\n| a round of | calls | here, ms | on a worker, ms | adds, ms | per call |\n|---|---|---|---|---|---|\n", time.Since(begin).Seconds())
	for _, l := range loads {
		var here, there, adds []float64
		for turn := range uint64(9) {
			a, b := 1000*l.seconds(turn, nil), 1000*l.seconds(turn, w)
			here, there, adds = append(here, a), append(there, b), append(adds, b-a)
		}
		each := slices.Clone(adds)
		for i := range each {
			each[i] /= float64(l.calls)
		}
		fmt.Printf("| %s | %d | %s | %s | %s | %s |\n", l.name, l.calls, quartiles(here), quartiles(there), quartiles(adds), quartiles(each))
	}
}

// quartiles formats the median with the quartiles, but for the first value, whose run compiled.
func quartiles(values []float64) string {
	all := slices.Sorted(slices.Values(values[1:]))
	at := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, all, nil) }
	return fmt.Sprintf("%.2f (%.2f to %.2f)", at(0.5), at(0.25), at(0.75))
}
