package strategy_test

import (
	"context"
	"fmt"
	"math"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// On least squares, FedSplit reaches the optimum of the sum; FedAvg with several local steps does not.
func ExampleFedSplit() {
	data, best, err := datasets.LeastSquares{Heterogeneity: 1}.Make()
	if err != nil {
		panic(err)
	}
	fed, err := fedkit.New(data, partition.Natural{}, model.LinearRegression())
	if err != nil {
		panic(err)
	}
	least, most, err := convex.Curvature(fed, 0)
	if err != nil {
		panic(err)
	}
	split := &strategy.FedSplit{Exact: true, Step: 1 / math.Sqrt(least*most)}
	avg := &strategy.FedAvg{Local: fedkit.Local{Steps: 20, Batch: fedkit.FullBatch, LR: 0.1}}
	for _, s := range []fedkit.Strategy{split, avg} {
		h, err := fedkit.Run(context.Background(), fed, convex.WithGap(s, best), fedkit.Options{Rounds: 30, EvalEvery: 30})
		if err != nil {
			panic(err)
		}
		gap := h.Last().Notes["relative gap"]
		fmt.Println(h.Name, gap < 1e-9, gap > 1e-3)
	}
	// Output:
	// FedSplit true false
	// FedAvg false true
}
