package attack_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// Three of ten clients send their updates backwards and five times too large. The mean learns nothing; Krum does.
func Example() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(16)))
	bad := must.M1(attack.Apply(fed, 0.3, attack.SignFlip{Scale: 5}, 1))
	for _, by := range []fedkit.Aggregator{aggregate.Mean{}, aggregate.Krum{F: 3}} {
		avg := &strategy.FedAvg{Aggregator: by, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
		h := must.M1(fedkit.Run(context.Background(), bad, avg, fedkit.Options{Rounds: 20}))
		fmt.Printf("%T learns: %v\n", by, h.Accuracy() > 0.8)
	}
	// Output:
	// aggregate.Mean learns: false
	// aggregate.Krum learns: true
}

// The seed decides who attacks. A larger share keeps the attackers of a smaller one.
func ExampleAttackers() {
	few := must.M1(attack.Attackers(10, 0.1, 1))
	more := must.M1(attack.Attackers(10, 0.3, 1))
	fmt.Println(few, more)
	// Output: [8] [2 7 8]
}

// A second attack goes on top of the first: with the same seed, the same clients do both.
func ExampleApply_twice() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(16)))
	flipped := must.M1(attack.Apply(fed, 0.2, attack.LabelFlip{}, 1))
	both := must.M1(attack.Apply(flipped, 0.2, attack.Scaled{Factor: 10}, 1))
	fmt.Println(both.Rule)
	// Output: 10 clients, IID; label flip by clients [7 8] of 10; update × 10 by clients [7 8] of 10
}

// A custom attack is a function of the honest updates. Here attackers return what they received: they do no work.
func ExampleForge() {
	lazy := attack.Forge{Name: "no work", Send: func(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
		return u.Models.Sub(u.Delta())
	}}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(16)))
	bad := must.M1(attack.Apply(fed, 0.5, lazy, 1))
	accuracy := func(fed *fedkit.Federation) float64 {
		avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
		return must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 5})).Accuracy()
	}
	fmt.Println(lazy, "slows learning down:", accuracy(bad) < accuracy(fed)-0.05)
	// Output: no work slows learning down: true
}
