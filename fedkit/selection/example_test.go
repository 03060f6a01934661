package selection_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// After two random rounds, half of the clients chosen differ a lot from the global model and half differ little. Now and
// then a round is random, and nobody waits longer than 5 rounds.
func Example() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.3, Seed: 1}, model.MLP(32)))
	avg := &strategy.FedAvg{
		Fraction: 0.25,
		Selector: selection.Fair{Wait: 5, Then: selection.Explore{Then: selection.Hybrid{}}},
		Local:    fedkit.Local{Batch: 16, LR: 0.1},
	}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 12}))
	times := map[int]int{}
	for _, r := range h.Rounds {
		for _, c := range r.Clients() {
			times[c]++
		}
	}
	fmt.Println(len(times), "of 20 clients took part")
	// Output: 20 of 20 clients took part
}

// A custom rule is a function of what is known about the clients.
func Example_func() {
	largest := fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int {
		best := 0
		for _, c := range r.AllClients() {
			if len(r.Fed.Clients[c].Train) > len(r.Fed.Clients[best].Train) {
				best = c
			}
		}
		return []int{best}
	})
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 5, Alpha: 1}, model.LogisticRegression()))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Selector: selection.Explore{Then: largest}}, fedkit.Options{Rounds: 3}))
	fmt.Println(len(h.Last().Results), "client in the last round")
	// Output: 1 client in the last round
}
