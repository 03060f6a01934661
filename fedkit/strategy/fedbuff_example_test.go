package strategy_test

import (
	"context"
	"fmt"
	"math"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// A tenth of the clients are stragglers. A synchronous round waits for them; a buffered one closes with the first five results,
// some of them stale.
func ExampleFedBuff() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 20}, model.MLP(16)))
	fed = must.M1(fed.WithDevices(sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}))
	local := fedkit.Local{Batch: 16, LR: 0.1}
	for rounds, s := range map[int]fedkit.Strategy{20: &strategy.FedAvg{Fraction: 0.5, Local: local}, 40: &strategy.FedBuff{Concurrency: 10, K: 5, Local: local}} {
		h := must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
		oldest := 0
		for _, r := range h.Rounds {
			for _, solve := range r.Results {
				oldest = max(oldest, solve.Staleness)
			}
		}
		fmt.Printf("%s: 200 results in %.0f s, the oldest of %d rounds before\n", h.Name, h.Last().Clock, oldest)
	}
	// Unordered output:
	// FedAvg: 200 results in 125 s, the oldest of 0 rounds before
	// FedBuff: 200 results in 17 s, the oldest of 17 rounds before
}

// The server keeps momentum, m ← βm + Δ̄ and x ← x + m; with β = 0 it is FedBuff without. Results on old models act like momentum
// themselves (Mitliagkas et al., arXiv 1605.09774), so that a usual β is too large here.
func ExampleFedBuff_momentum() {
	fed := must.M1(digits().WithDevices(sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}))
	for _, beta := range []float64{fedkit.Zero, 0.3, 0.8} {
		h := after(30, fed, &strategy.FedBuff{Concurrency: 10, K: 5, Server: server.Momentum{Beta: beta, HeavyBall: true}, Local: short})
		fmt.Printf("β = %.1f: more than 70 %% right: %v\n", beta, h.Accuracy() > 0.7)
	}
	// Output:
	// β = 0.0: more than 70 % right: true
	// β = 0.3: more than 70 % right: true
	// β = 0.8: more than 70 % right: false
}

// Each result updates the model on arrival. Here, results with a staleness above four are useful: with Hinge they
// have little weight.
func ExampleFedAsync() {
	fed := must.M1(digits().WithDevices(sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}))
	accuracy := map[strategy.Staleness]float64{}
	for _, old := range []strategy.Staleness{strategy.Constant{}, strategy.Hinge{}} {
		h := after(200, fed, &strategy.FedAsync{Concurrency: 10, Alpha: 0.3, Staleness: old, Updates: true, Local: short})
		fmt.Printf("%T: 200 results in %.0f s\n", old, h.Last().Clock)
		accuracy[old] = h.Accuracy()
	}
	fmt.Println("the old ones help:", accuracy[strategy.Constant{}] > accuracy[strategy.Hinge{}]+0.1)
	// Output:
	// strategy.Constant: 200 results in 31 s
	// strategy.Hinge: 200 results in 31 s
	// the old ones help: true
}

// Each client chooses its number of local steps, and the server steps once five results have arrived.
func ExampleCCFL() {
	fed := must.M1(digits().WithDevices(sim.Devices{PerExample: sim.TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.1}, Seed: 1}))
	h := after(40, fed, &strategy.CCFL{Concurrency: 10, M: 5, StepsMin: 5, StepsMax: 20, Server: server.AMSGrad{LR: 0.1}, Local: short})
	least, most := math.MaxInt, 0
	for _, r := range h.Rounds {
		for _, s := range r.Results {
			least, most = min(least, s.Steps), max(most, s.Steps)
		}
	}
	fmt.Printf("200 results of %d to %d steps in %.0f s", least, most, h.Last().Clock)
	// A pass of the slow client with 62 examples is four steps, of 16, 16, 16 and 14 of them: 6.2 s.

	// Output: 200 results of 5 to 20 steps in 41 s
}
