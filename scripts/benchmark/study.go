package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// compute times a study of 20 strategies with 5 seeds and 30 rounds each on the digits. If the folder has its runs, this is
// the time that running it again takes.
func compute(dir string) {
	begin := time.Now()
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.3}, model.MLP(64)))
	st := study.New(dir)
	st.Log = io.Discard
	for i, s := range twenty(fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}) {
		for seed := range uint64(5) {
			st.Add(fed, s, fedkit.Options{Rounds: 30, Seed: seed}, "i", i)
		}
	}
	runs := must.M1(st.Run(context.Background()))
	if failed := runs.Failed(); len(failed) > 0 {
		fmt.Fprintln(os.Stderr, failed[0].Err())
		os.Exit(1)
	}
	hs := runs.Light()
	must.M(json.NewEncoder(os.Stdout).Encode(map[string]any{"peer": "fedkit", "task": "study", "runs": len(hs),
		"total_s": time.Since(begin).Seconds(), "disk_mb": float64(runs.Size()) / 1e6, "peak_rss_mb": peak()}))
}

func twenty(l fedkit.Local) []fedkit.Strategy {
	const half = 0.5
	return []fedkit.Strategy{
		&strategy.FedAvg{Fraction: half, Local: l},
		&strategy.FedAvg{Fraction: half, Local: l, Aggregator: aggregate.TrimmedMean{}},
		&strategy.FedAvg{Fraction: half, Local: l, Aggregator: aggregate.Krum{}},
		&strategy.FedAvg{Fraction: half, Local: l, Aggregator: aggregate.GeometricMedian{}},
		&strategy.FedAvg{Fraction: half, Local: l, Selector: selection.Hybrid{}},
		&strategy.FedMedian{Fraction: half, Local: l},
		&strategy.FedMiddleAvg{Fraction: half, Local: l},
		&strategy.FedOpt{Fraction: half, Local: l, Server: server.SGD{LR: 0.5}},
		&strategy.FedAvgM{Fraction: half, Local: l},
		&strategy.FedAdagrad{Fraction: half, Local: l},
		&strategy.FedAdam{Fraction: half, Local: l},
		&strategy.FedYogi{Fraction: half, Local: l},
		&strategy.FedProx{Fraction: half, Local: l},
		&strategy.FedProx{Fraction: half, Local: l, Adaptive: true},
		&strategy.SmartFedProx{Fraction: half, Local: l},
		&strategy.SCAFFOLD{Fraction: half, Local: l},
		&strategy.FedRep{Fraction: half, Local: l},
		&strategy.LocalOnly{Fraction: half, Local: l},
		&strategy.IFCA{K: 2, Fraction: half, Local: l},
		&strategy.FedPRISM{K: 2, Fraction: half, Local: l},
	}
}
