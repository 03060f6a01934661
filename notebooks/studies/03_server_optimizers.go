package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// ServerOptimizers has adaptive optimizers on the clients, with the memory reset or kept, and on the server.
//
// All of MNIST on 100 clients, ten of them in each round. Each optimizer has its own grid of client rates η.
func ServerOptimizers() study.Plan {
	var plan list
	options := fedkit.Options{Rounds: 100, EvalEvery: 2, Keep: totals}
	const fraction = 0.1
	local := fedkit.Local{Epochs: 1, Batch: 20, LR: 0.3}
	large, small := []float64{0.01, 0.03, 0.1, 0.3}, []float64{0.001, 0.003, 0.01, 0.03}
	for _, clients := range []struct {
		name string
		rule func(seed uint64) partition.Rule
	}{
		{"two shards", func(seed uint64) partition.Rule { return partition.Shards{Clients: 100, Seed: seed} }},
		{"IID", func(seed uint64) partition.Rule { return partition.IID{Clients: 100, Seed: seed} }},
	} {
		add := func(name string, s fedkit.Strategy, labels ...any) {
			for seed := range seeds(5) {
				world := study.World{Data: mnist, Partition: clients.rule(seed), Model: study.Of(model.MLP, 64)}
				plan.add(world, named{name, s}, options, seed, append([]any{"clients", clients.name}, labels...)...)
			}
		}
		// On the clients, under FedAvg. Kept: a client goes on with the memory of its last round, some ten rounds ago.
		for _, rate := range []float64{0.1, 0.3, 1} {
			local := local
			local.LR = rate
			add("SGD", &strategy.FedAvg{Fraction: fraction, Local: local}, "η", rate)
		}
		for _, o := range []struct {
			name      string
			optimizer fedkit.Optimizer
			rates     []float64
		}{
			{"momentum", fedkit.Momentum{}, large}, {"Adagrad", fedkit.Adagrad{}, large},
			{"RMSProp", fedkit.RMSProp{}, small}, {"Adam", fedkit.Adam{}, small},
		} {
			for _, memory := range []string{"reset", "kept"} {
				for _, rate := range o.rates {
					local := fedkit.Local{Epochs: 1, Batch: 20, LR: rate, Optimizer: o.optimizer, KeepMemory: memory == "kept"}
					add(o.name, &strategy.FedAvg{Fraction: fraction, Local: local}, "memory", memory, "η", rate)
				}
			}
		}
		// On the server, with SGD on the clients: the rates that won the grid of section 5
		add("FedMiddleAvg", &strategy.FedMiddleAvg{Fraction: fraction, Local: local})
		add("FedAvgM", &strategy.FedAvgM{Fraction: fraction, Local: local, Server: server.Momentum{LR: 3}})
		add("FedAdagrad", &strategy.FedAdagrad{Fraction: fraction, Local: local, Server: server.Adagrad{LR: 0.03}})
		add("FedAdam", &strategy.FedAdam{Fraction: fraction, Local: local, Server: server.Adam{LR: 0.01}})
		add("FedYogi", &strategy.FedYogi{Fraction: fraction, Local: local, Server: server.Yogi{LR: 0.01}})
	}
	return study.Plan(plan)
}

// ClientOptimizers has optimizers on the clients, with the memory reset or kept, on the small digits: 20 clients, five of them in each
// round. Each optimizer has its own grid of client rates η.
func ClientOptimizers() study.Plan {
	var plan list
	for _, clients := range []struct {
		name string
		rule partition.Rule
	}{{"two shards", partition.Shards{Clients: 20, Seed: 1}}, {"IID", partition.IID{Clients: 20, Seed: 1}}} {
		world := study.World{Data: digits, Partition: clients.rule, Model: study.Of(model.MLP, 64)}
		add := func(name string, local fedkit.Local, labels ...any) {
			local.Epochs, local.Batch = 1, 10
			for seed := range uint64(5) {
				s := named{name, &strategy.FedAvg{Fraction: 0.25, Local: local}}
				plan.add(world, s, fedkit.Options{Rounds: 40, EvalEvery: 2, Keep: totals}, seed, append([]any{"clients", clients.name}, labels...)...)
			}
		}
		large, small := []float64{0.03, 0.1, 0.3}, []float64{0.003, 0.01, 0.03}
		for _, rate := range []float64{0.1, 0.3, 1} {
			add("SGD", fedkit.Local{LR: rate}, "η", rate)
		}
		for _, memory := range []string{"reset", "kept"} {
			for i := range 3 {
				with := func(name string, o fedkit.Optimizer, rate float64) {
					add(name, fedkit.Local{LR: rate, Optimizer: o, KeepMemory: memory == "kept"}, "memory", memory, "η", rate)
				}
				with("momentum", fedkit.Momentum{}, large[i])
				with("Adagrad", fedkit.Adagrad{}, large[i])
				with("RMSProp", fedkit.RMSProp{}, small[i])
				with("Adam", fedkit.Adam{}, small[i])
			}
		}
	}
	return study.Plan(plan)
}
