package study_test

import (
	"fmt"
	"os"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

func Example() {
	dir := must.M1(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(16)))

	st := study.New(dir)
	st.Log = os.Stdout // as in a notebook
	for _, lr := range []float64{0.03, 0.3} {
		for seed := range uint64(2) {
			st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: lr}}, fedkit.Options{Rounds: 3, Seed: seed}, "η", lr)
		}
	}
	runs := must.M1(st.Run(ctx))
	runs = must.M1(st.Run(ctx)) // as in a cell that runs again
	for _, h := range runs.Where("seed", 1).Histories() {
		fmt.Printf("%s: %d rounds\n", h.Name, len(h.Rounds))
	}
	// Output:
	// 0 stored, 4 to run
	// 4 stored, 0 to run
	// FedAvg, η 0.03: 3 rounds
	// FedAvg, η 0.3: 3 rounds
}

// A rate is chosen on validation rows, and reported on test rows, which had no part in the choice.
func ExampleRuns_Best() {
	dir := must.M1(os.MkdirTemp("", "runs"))
	defer os.RemoveAll(dir)
	rule := partition.Validation{Of: partition.IID{Clients: 10, Seed: 1}}
	fed := must.M1(fedkit.New(datasets.Digits(), rule, model.MLP(16)))
	st := study.New(dir)
	for _, lr := range []float64{0.001, 0.3} {
		st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: lr}}, fedkit.Options{Rounds: 3}, "η", lr)
	}
	best, on := must.M2(must.M1(st.Run(ctx)).Best("η", compare.Accuracy))
	fmt.Println(best[0], on == datasets.ValidationPart)
	// Output: FedAvg, η 0.3 true
}
