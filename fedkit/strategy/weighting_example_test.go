package strategy_test

import (
	"fmt"
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// Every algorithm with a mean takes the same weightings, so that they can be compared without a difference in weights: FedAvg
// weighs by examples by default, and FedBuff equally.
func ExampleWeighting() {
	root := strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return math.Sqrt(float64(s.Examples)) })
	for _, by := range []strategy.Weighting{strategy.ByExamples{}, strategy.Equal{}, root} {
		avg := after(20, digits(), &strategy.FedAvg{Fraction: 0.5, Weighting: by, Local: short})
		buff := after(20, digits(), &strategy.FedBuff{Concurrency: 10, K: 10, Staleness: strategy.Constant{}, Weighting: by, Local: short})
		fmt.Printf("%T: within five points: %v\n", by, math.Abs(avg.Accuracy()-buff.Accuracy()) < 0.05)
	}
	// Output:
	// strategy.ByExamples: within five points: true
	// strategy.Equal: within five points: true
	// strategy.WeightingFunc: within five points: true
}
