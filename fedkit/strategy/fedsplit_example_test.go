package strategy_test

import (
	"context"
	"fmt"
	"math"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// On least squares, FedSplit reaches the optimum of the sum; FedAvg with several local steps stops beside it.
func ExampleFedSplit() {
	data, best, err := datasets.LeastSquares{Heterogeneity: 1}.Make()
	if err != nil {
		panic(err)
	}
	fed, err := fedkit.New(data, partition.Natural{}, model.LinearRegression())
	if err != nil {
		panic(err)
	}
	least, most, err := strategy.Curvature(fed, 0)
	if err != nil {
		panic(err)
	}
	split := &strategy.FedSplit{Exact: true, Step: 1 / math.Sqrt(least*most)}
	avg := &strategy.FedAvg{Local: fedkit.Local{Steps: 20, Batch: fedkit.FullBatch, LR: 0.1}}
	for _, s := range []fedkit.Strategy{split, avg} {
		var gaps []float64 // relative, one per round
		for _, err := range fedkit.Rounds(context.Background(), fed, s, fedkit.Options{Rounds: 30, EvalEvery: 30}) {
			if err != nil {
				panic(err)
			}
			x, _ := s.Serve(nil).Global.Host()
			gap, _ := best.Gap(x)
			gaps = append(gaps, gap/best.Loss)
		}
		fmt.Println(gaps[29] < 1e-9, gaps[29] > 1e-3)
	}
	// Output:
	// true false
	// false true
}
