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
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

func init() {
	l := standard
	more["FedMiddleAvg"] = func() fedkit.Strategy { return &strategy.FedMiddleAvg{Fraction: 0.5, Local: l} }
	more["FedAvgM"] = func() fedkit.Strategy { return &strategy.FedAvgM{Fraction: 0.5, Local: l} }
	more["FedAdagrad"] = func() fedkit.Strategy {
		return &strategy.FedAdagrad{Fraction: 0.5, Local: l, Server: server.Adagrad{LR: 0.5}}
	}
	more["FedAdam"] = func() fedkit.Strategy {
		return &strategy.FedAdam{Fraction: 0.5, Local: l, Server: server.Adam{LR: 0.05, Epsilon: 1e-3}}
	}
	more["FedYogi"] = func() fedkit.Strategy {
		return &strategy.FedYogi{Fraction: 0.5, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 1e-3}}
	}
	more["FedYogi, trimmed, hybrid"] = func() fedkit.Strategy {
		return &strategy.FedYogi{Aggregator: aggregate.TrimmedMean{Share: 0.2}, Selector: selection.Explore{Then: selection.Hybrid{}},
			Fraction: 0.85, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 1e-3}}
	}
	more["FedYogi, Reddi"] = func() fedkit.Strategy {
		return &strategy.FedYogi{Fraction: 0.5, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 0.03, Form: server.Reddi}}
	}
	// Every part other than the usual one, the optimiser chosen at run time.
	more["FedOpt"] = func() fedkit.Strategy {
		return &strategy.FedOpt[fedkit.ServerOptimizer]{Fraction: 0.5, Aggregator: aggregate.Median{}, Selector: sorted, Local: l, Server: server.Momentum{Beta: 0.5}}
	}

	moreIdentities = append(moreIdentities,
		identity{"FedAvgM with β = 0, η = 1 = FedAvg", uneven, &strategy.FedAvgM{Local: l, Server: server.Momentum{Beta: fedkit.Zero}}, &strategy.FedAvg{Local: l}},
		identity{"FedMiddleAvg = FedAvg with server rate 1/2", uneven, &strategy.FedMiddleAvg{Local: l},
			&strategy.FedOpt[server.SGD]{Local: l, Server: server.SGD{LR: 0.5}}},
		identity{"FedOpt with SGD and η = 1 = FedAvg", uneven, &strategy.FedOpt[server.SGD]{Fraction: 0.5, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		identity{"FedOpt with SGD, η = 1 and a median = FedMedian", uneven,
			&strategy.FedOpt[server.SGD]{Local: l, Aggregator: aggregate.Median{}}, &strategy.FedMedian{Local: l}},
		identity{"FedAvgM with β = 0 and one full batch = FedSGD", uneven,
			&strategy.FedAvgM{Local: fedkit.Local{Batch: fedkit.FullBatch, LR: 0.2}, Server: server.Momentum{Beta: fedkit.Zero}}, &strategy.FedSGD{LR: 0.2}},
		identity{"an optimiser chosen at run time = one chosen at compile time", uneven,
			&strategy.FedOpt[fedkit.ServerOptimizer]{Local: l, Server: server.Yogi{}}, &strategy.FedYogi{Local: l}},
	)

	for text, s := range map[string]fedkit.Strategy{
		"FedAvgM: invalid: Momentum.Beta = 1: must be in (0, 1), 0 for the default of 0.9, or fedkit.Zero":               &strategy.FedAvgM{Server: server.Momentum{Beta: 1}},
		"FedAdagrad: invalid: Adagrad.LR = -1: must be a number > 0, or 0 for the default of 0.1":                        &strategy.FedAdagrad{Server: server.Adagrad{LR: -1}},
		"FedAdam: invalid: Adam.Beta2 = -0.5: must be in (0, 1), 0 for the default of 0.99, or fedkit.Zero":              &strategy.FedAdam{Server: server.Adam{Beta2: -0.5}},
		"FedYogi: invalid: Yogi.Epsilon = -1: must be a number > 0, or 0 for the default of 1e-6 (1e-3 in Reddi's form)": &strategy.FedYogi{Server: server.Yogi{Epsilon: -1}},
		"FedYogi: invalid: Fraction = 2: must be in (0, 1], or 0 for every client":                                       &strategy.FedYogi{Fraction: 2},
		"FedMiddleAvg: invalid: Local.Batch = 0: must be at least 1, or fedkit.FullBatch":                                &strategy.FedMiddleAvg{Local: fedkit.Local{LR: 0.1}},
		"FedOpt: invalid: Server = nil: must be a server optimiser, such as server.Adam{}":                               &strategy.FedOpt[fedkit.ServerOptimizer]{},
	} {
		moreRefused[text] = s
	}
}

// sorted selects the first n clients.
var sorted = fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.Everyone()[:n] })

func TestNamesOfServerStrategies(t *testing.T) {
	fed := quadratic(t, 8, 8)
	for want, s := range map[string]fedkit.Strategy{
		"FedMiddleAvg": &strategy.FedMiddleAvg{}, "FedAvgM": &strategy.FedAvgM{}, "FedAdagrad": &strategy.FedAdagrad{},
		"FedAdam": &strategy.FedAdam{}, "FedYogi": &strategy.FedYogi{Server: server.Yogi{LR: 0.02, Form: server.Reddi}}, "FedOpt": &strategy.FedOpt[server.SGD]{},
	} {
		h := run(t, fed, s, fedkit.Options{Rounds: 1})
		if h.Strategy != want || h.Name != want {
			t.Errorf("%T is called %q, %q; want %q", s, h.Strategy, h.Name, want)
		}
		if want == "FedYogi" && h.Options != "Server: {LR:0.02 Beta1:0 Beta2:0 Epsilon:0 Form:Reddi}" {
			t.Errorf("the options of FedYogi read %q", h.Options)
		}
	}
}

// Server optimiser, aggregator, selector and local solver combine freely.
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
