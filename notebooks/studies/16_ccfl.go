package studies

import (
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// CCFL has synchronous and asynchronous rules on unequal devices, weighted by examples and equally.
//
//	rates     three or four server rates for each rule, 240 results, with seed 100, which nothing else uses
//	race      each rule at the best of them, 1,000 results, MLP-64
//	LeNet     the same with convolutions
//	devices   four rules and three weights of stale results, 400 results, on devices of three kinds
//	pace      FedAvg that does not wait for everyone, 400 results
//
// The test set is whole, 10,000 images. Seeds 1 to 5 change everything: partition, devices, first model, participation, batches.
func CCFL() study.Plan {
	var plan list
	world := func(net study.Model, sigma float64, seed uint64) study.World {
		return study.World{Data: mnist, Partition: partition.Dirichlet{Clients: 100, Alpha: 0.3, Seed: seed}, Model: net, Devices: sim.Devices{
			PerExample: sim.LogNormal{Median: 0.02, Sigma: sigma},
			Down:       sim.LogNormal{Median: 1e5, Sigma: sigma},
			Up:         sim.LogNormal{Median: 5e4, Sigma: sigma},
			Drop:       sim.Constant(0.05),
			Seed:       seed,
		}}
	}
	tiny := study.Of(model.MLP, 16)
	local := fedkit.Local{Steps: 10, Batch: 10, LR: 0.1}
	options := func(rounds, every int) fedkit.Options {
		return fedkit.Options{Rounds: rounds, EvalEvery: every, Keep: totals}
	}

	// The rules, by the weights of results and the server's rate
	type rule func(w strategy.Weighting, rate float64) fedkit.Strategy
	fedavg := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return &strategy.FedOpt{Fraction: 0.2, Server: server.SGD{LR: rate}, Weighting: w, Local: local}
	}
	fedavgm := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return &strategy.FedAvgM{Fraction: 0.2, Server: server.Momentum{LR: rate}, Weighting: w, Local: local}
	}
	fedadam := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return &strategy.FedAdam{Fraction: 0.2, Server: server.Adam{Form: server.Reddi, LR: rate}, Weighting: w, Local: local}
	}
	fedasync := func(_ strategy.Weighting, rate float64) fedkit.Strategy { // it takes one result at a time
		return &strategy.FedAsync{Concurrency: 20, Alpha: rate, Local: local}
	}
	stale := func(s strategy.Staleness) rule {
		return func(w strategy.Weighting, rate float64) fedkit.Strategy {
			return &strategy.FedBuff{Concurrency: 20, K: 5, Staleness: s, Server: server.SGD{LR: rate}, Weighting: w, Local: local}
		}
	}
	fedbuff, even, hinge := stale(nil), stale(strategy.Constant{}), stale(strategy.Hinge{})
	ccfl := func(w strategy.Weighting, s fedkit.ServerOptimizer) fedkit.Strategy {
		return &strategy.CCFL{Concurrency: 20, M: 5, Server: s, Weighting: w, Local: local}
	}
	ccadagrad := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return ccfl(w, server.Adagrad{Form: server.Reddi, Epsilon: 1e-4, LR: rate})
	}
	ccadam := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return ccfl(w, server.Adam{Form: server.Reddi, Epsilon: 1e-4, LR: rate})
	}
	ccams := func(w strategy.Weighting, rate float64) fedkit.Strategy {
		return ccfl(w, server.AMSGrad{Epsilon: 1e-4, LR: rate})
	}

	type weights struct {
		name string
		by   strategy.Weighting
	}
	both := []weights{{"by examples", strategy.ByExamples{}}, {"equal", strategy.Equal{}}}
	equal := both[1:]

	sync, async := options(12, 2), options(48, 8)
	for _, s := range []struct {
		name    string
		at      rule
		options fedkit.Options
		weights []weights
		rates   []float64
	}{
		{"FedAvg", fedavg, sync, both, []float64{0.5, 1, 2, 4}},
		{"FedAvgM", fedavgm, sync, both, []float64{4, 8, 16}},
		{"FedAdam", fedadam, sync, both, []float64{0.01, 0.03, 0.1}},
		{"FedAsync", fedasync, options(240, 40), equal, []float64{0.15, 0.3, 0.6, 0.9}},
		{"FedBuff", fedbuff, async, both, []float64{0.25, 0.5, 1, 2}},
		{"CC-FedAdagrad", ccadagrad, async, both, []float64{0.01, 0.03, 0.1}},
		{"CC-FedAdam", ccadam, async, both, []float64{0.001, 0.003, 0.01}},
		{"CC-FedAMS", ccams, async, both, []float64{0.001, 0.003, 0.01}},
		{"FedBuff, even", even, async, equal, []float64{0.125, 0.25, 0.5}},
		{"FedBuff, hinge", hinge, async, equal, []float64{0.25, 0.5, 1}},
	} {
		for _, w := range s.weights {
			for _, rate := range s.rates {
				in := world(tiny, 1, 0)
				plan.add(in, named{s.name, s.at(w.by, rate)}, s.options, 100, "part", "rates", "weights", w.name, "rate", rate)
			}
		}
	}

	sync, async = options(50, 2), options(200, 8)
	for _, part := range []struct {
		name  string
		model study.Model
	}{{"race", study.Of(model.MLP, 64)}, {"LeNet", study.Of(model.LeNet)}} {
		for _, s := range []struct {
			name    string
			at      rule
			options fedkit.Options
			weights []weights
			rates   []float64 // the best one, for each of the weights
		}{
			{"FedAvg", fedavg, sync, both, []float64{0, 2}}, // 0: the default, 1
			{"FedAvgM", fedavgm, sync, both, []float64{8, 8}},
			{"FedAdam", fedadam, sync, both, []float64{0.03, 0.03}},
			{"FedAsync", fedasync, options(1000, 40), equal, []float64{0.3}},
			{"FedBuff", fedbuff, async, both, []float64{0.5, 0.5}},
			{"CC-FedAdagrad", ccadagrad, async, both, []float64{0.03, 0.03}},
			{"CC-FedAdam", ccadam, async, both, []float64{0.003, 0.003}},
			{"CC-FedAMS", ccams, async, both, []float64{0.003, 0.003}},
		} {
			for i, w := range s.weights {
				for seed := range seeds(5) {
					in := world(part.model, 1, seed)
					plan.add(in, named{s.name, s.at(w.by, s.rates[i])}, s.options, seed, "part", part.name, "weights", w.name)
				}
			}
		}
	}

	sync, async = options(20, 1), options(80, 4)
	best := fedavg(strategy.Equal{}, 2)
	for _, sigma := range []float64{0, 1, 2} {
		for _, s := range []struct {
			named
			options fedkit.Options
		}{
			{named{"FedAvg", best}, sync},
			{named{"FedAsync", fedasync(nil, 0.3)}, options(400, 20)},
			{named{"FedBuff", fedbuff(strategy.Equal{}, 0.5)}, async},
			{named{"FedBuff, rate 1", fedbuff(strategy.Equal{}, 1)}, async},
			{named{"FedBuff, even", even(strategy.Equal{}, 0.25)}, async},
			{named{"FedBuff, hinge", hinge(strategy.Equal{}, 0.5)}, async},
			{named{"CC-FedAdam", ccadam(nil, 0.003)}, async},
		} {
			for seed := range seeds(5) {
				plan.add(world(tiny, sigma, seed), s.named, s.options, seed, "part", "devices", "σ", sigma)
			}
		}
	}

	for _, s := range []struct {
		name string
		pace fedkit.Pace
	}{
		{"FedAvg, over-selection", fedkit.Pace{OverSelection: 0.3}},
		{"FedAvg, deadline", fedkit.Pace{Deadline: 10}},
		{"FedAvg, partial work", fedkit.Pace{Deadline: 10, PartialWork: true}},
	} {
		for seed := range seeds(5) {
			paced := sync
			paced.Pace = s.pace
			plan.add(world(tiny, 1, seed), named{s.name, best}, paced, seed, "part", "pace")
		}
	}
	return study.Plan(plan)
}
