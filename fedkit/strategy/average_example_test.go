package strategy_test

import (
	"context"
	"fmt"
	"math"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// digits are handwritten digits of 20 clients with label skew.
var digits = sync.OnceValue(func() *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(16)))
})

// short is the local work of a round.
var short = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}

// after runs a strategy for some rounds, and returns its history.
func after(rounds int, fed *fedkit.Federation, s fedkit.Strategy) *fedkit.History {
	return must.M1(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds}))
}

// Half of the clients train in a round, and each sends a model of 1210 numbers.
func ExampleFedAvg() {
	h := after(30, digits(), &strategy.FedAvg{Fraction: 0.5, Local: short})
	fmt.Println(len(h.Last().Results), "clients sent", h.Last().BytesUp, "bytes in a round")
	fmt.Println("more than 80 % right:", h.Accuracy() > 0.8)
	// Output:
	// 10 clients sent 48400 bytes in a round
	// more than 80 % right: true
}

// One gradient step per round over half of the clients, or two epochs of small local steps on each of them.
func ExampleFedSGD() {
	sgd := after(10, digits(), &strategy.FedSGD{Fraction: 0.5, LR: 0.5})
	avg := after(10, digits(), &strategy.FedAvg{Fraction: 0.5, Local: short})
	fmt.Println("ten rounds of local training get further:", avg.Accuracy() > sgd.Accuracy()+0.1)
	// Output: ten rounds of local training get further: true
}

// Halfway to the mean is a server step with η = 1/2.
func ExampleFedMiddleAvg() {
	middle := after(10, digits(), &strategy.FedMiddleAvg{Fraction: 0.5, Local: short})
	half := after(10, digits(), &strategy.FedOpt{Fraction: 0.5, Server: server.SGD{LR: 0.5}, Local: short})
	fmt.Println("the same:", math.Abs(middle.Accuracy()-half.Accuracy()) < 0.05)
	// Output: the same: true
}

// A fifth of the clients send their updates reversed and scaled by five.
func ExampleFedMedian() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 20}, model.MLP(16)))
	fed = must.M1(attack.Apply(fed, 0.2, attack.SignFlip{Scale: 5}, 1))
	for _, s := range []fedkit.Strategy{&strategy.FedAvg{Local: short}, &strategy.FedMedian{Local: short}} {
		h := after(20, fed, s)
		fmt.Println(h.Name, "learns:", h.Accuracy() > 0.7)
	}
	// Output:
	// FedAvg learns: false
	// FedMedian learns: true
}

// μ holds clients near the global model.
func ExampleFedProx() {
	drift := func(mu float64) (sum float64) {
		for _, s := range after(10, digits(), &strategy.FedProx{Fraction: 0.5, Mu: mu, Local: short}).Last().Results {
			sum += float64(s.Drift)
		}
		return sum
	}
	fmt.Println("with μ = 1 they drift less than with μ = 0:", drift(1) < 0.9*drift(fedkit.Zero))
	// Output: with μ = 1 they drift less than with μ = 0: true
}

// Each client has its own μ. The selections to compare with are options.
func ExampleSmartFedProx() {
	for _, who := range []fedkit.Selector{nil, selection.Explore{Then: selection.Diversity{}}, selection.Random{}} {
		h := after(10, digits(), &strategy.SmartFedProx{Selector: who, MuMin: 0.01, MuMax: 0.5, Local: short})
		least, most := math.Inf(1), 0.0
		for _, s := range h.Last().Results {
			least, most = min(least, float64(s.Mu)), max(most, float64(s.Mu))
		}
		fmt.Println(len(h.Last().Results), "clients, μ in [0.01, 0.5] and not the same:", least >= 0.01 && least < most && most <= 0.5)
	}
	// Output:
	// 10 clients, μ in [0.01, 0.5] and not the same: true
	// 10 clients, μ in [0.01, 0.5] and not the same: true
	// 10 clients, μ in [0.01, 0.5] and not the same: true
}

// What clients reach without each other, each on test examples of the kind that it has.
func ExampleLocalOnly() {
	h := after(40, digits(), &strategy.LocalOnly{Fraction: 0.5, Local: short})
	fmt.Println("more than 70 % right, for", h.Last().BytesUp, "bytes:", h.Last().Mean().Accuracy > 0.7)
	// Output: more than 70 % right, for 0 bytes: true
}
