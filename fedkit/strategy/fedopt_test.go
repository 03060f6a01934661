package strategy_test

import (
	"context"
	"fmt"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

func TestNamesOfServerStrategies(t *testing.T) {
	fed := quadratic(t, 8, 8)
	for want, s := range map[string]fedkit.Strategy{
		"FedMiddleAvg": &strategy.FedMiddleAvg{}, "FedAvgM": &strategy.FedAvgM{}, "FedAdagrad": &strategy.FedAdagrad{},
		"FedAdam": &strategy.FedAdam{}, "FedYogi": &strategy.FedYogi{Server: server.Yogi{LR: 0.02, Form: server.Reddi}}, "FedOpt": &strategy.FedOpt{Server: server.SGD{}},
	} {
		h := run(t, fed, s, fedkit.Options{Rounds: 1})
		if h.Strategy != want || h.Name != want {
			t.Errorf("%T is called %q, %q; want %q", s, h.Strategy, h.Name, want)
		}
		if want == "FedYogi" && h.Config.String() != "strategy.FedYogi{Server: {Form: \"Reddi\", LR: 0.02}}" {
			t.Errorf("the configuration of FedYogi reads %q", h.Config)
		}
	}
}

// Server optimizer, aggregator, selector and local solver combine freely.
func ExampleFedOpt() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(64)))
	yogi := &strategy.FedYogi{
		Fraction:   0.5,
		Aggregator: aggregate.Median{},
		Selector:   fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.Rand("who").Perm(r.Clients())[:n] }),
		Local:      fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1, Prox: 0.01},
		Server:     server.Yogi{LR: 0.02},
	}
	h := must.M1(fedkit.Run(context.Background(), fed, yogi, fedkit.Options{Rounds: 30}))
	fmt.Println(h.Name, "learns:", h.Accuracy() > 0.9)
	// Output: FedYogi learns: true
}
