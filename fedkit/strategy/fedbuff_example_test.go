package strategy_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// A tenth of the clients are slow. A synchronous round waits for them; a buffered one goes on with the first five results, of models
// that are some rounds old.
func ExampleFedBuff() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 20}, model.MLP(16)))
	fed = must.M1(fed.On(sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}))
	local := fedkit.Local{Batch: 16, LR: 0.1}
	for rounds, s := range map[int]fedkit.Strategy{20: &strategy.FedAvg{Fraction: 0.5, Local: local}, 40: &strategy.FedBuff{AtWork: 10, K: 5, Local: local}} {
		h := must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
		oldest := 0
		for _, r := range h.Rounds {
			for _, solve := range r.Solves {
				oldest = max(oldest, solve.Staleness)
			}
		}
		fmt.Printf("%s: 200 results in %.0f s, the oldest of %d rounds before\n", h.Name, h.Last().Clock, oldest)
	}
	// Unordered output:
	// FedAvg: 200 results in 125 s, the oldest of 0 rounds before
	// FedBuff: 200 results in 17 s, the oldest of 17 rounds before
}
