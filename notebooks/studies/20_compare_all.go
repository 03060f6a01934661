package studies

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/notebooks/examples"
)

// CompareAll has every algorithm of fedkit in four settings, with five seeds.
//
// Each algorithm runs as recommended, which is what its source says, or fedkit's default where it says nothing, with a local rate η of
// 0.1 for all; and as tuned, which is the best choice of the grid in Tuning, unless that is what is recommended. The first two seeds
// choose.
func CompareAll() study.Plan {
	var plan list
	for _, setting := range settings {
		for _, a := range algorithms() {
			a.add(&plan, setting, "recommended", choice{}, a.length.rounds, a.length.every, 5)
			if a.tuned != "" {
				a.add(&plan, setting, "tuned", a.best(), a.length.rounds, a.length.every, 5)
			}
		}
	}
	return study.Plan(plan)
}

// Long has every algorithm as tuned, for three times as many rounds, with three seeds.
func Long() study.Plan {
	var plan list
	for _, setting := range settings {
		for _, a := range algorithms() {
			a.add(&plan, setting, "long", a.best(), 3*a.length.rounds, a.length.everyOfLong, 3)
		}
	}
	return study.Plan(plan)
}

// Tuning has the grid on which CompareAll tunes every algorithm.
//
// The local rate η is 0.03 and 0.3 beside the recommended 0.1, which is in CompareAll; or 0.3 and 1 if 0.3 is better than 0.1. Most
// algorithms have a second value of the option that matters most, and again with larger rates if it was the best.
func Tuning() study.Plan {
	var plan list
	for _, setting := range settings {
		for _, a := range algorithms() {
			for _, c := range a.grid {
				a.add(&plan, setting, c.String(), c, a.length.rounds, a.length.every, 5)
			}
		}
	}
	return study.Plan(plan)
}

// setting is how 48 clients differ, of which eight are unseen.
type setting struct {
	name    string
	rule    func(seed uint64) partition.Rule
	devices func(seed uint64) sim.Devices
}

var settings = []setting{
	{"even", func(seed uint64) partition.Rule {
		return partition.Take{Of: partition.IID{Clients: 48}, Train: 50, Test: 50, Seed: seed}
	}, evenDevices},
	{"labels", func(seed uint64) partition.Rule {
		return partition.Take{Of: partition.Dirichlet{Clients: 48, Alpha: 0.1}, Train: 50, Test: 50, Seed: seed}
	}, evenDevices},
	{"rotation", func(seed uint64) partition.Rule {
		return partition.Take{Of: partition.Rotations{Of: partition.IID{Clients: 48}}, Train: 50, Test: 50, Seed: seed}
	}, evenDevices},
	{"sizes", func(seed uint64) partition.Rule {
		return partition.Quantity{Of: partition.Take{Of: partition.IID{Clients: 48}, Train: 220, Test: 220}, Alpha: 1, Seed: seed}
	}, func(seed uint64) sim.Devices {
		d := evenDevices(seed)
		d.PerExample, d.Up = sim.LogNormal{Median: 0.01, Sigma: 1}, sim.Uniform{Low: 1e5, High: 1e6}
		return d
	}},
}

// choice is what an algorithm is run with. The zero value is what is recommended.
type choice struct {
	option string  // that is not as recommended, with its value: "β 0.5"
	value  float64 // of the option; 0: as recommended
	rate   float64 // η of the clients; default 0.1
	rounds int     // of the run
}

// String is "η 0.3", "β 0.5", or "β 0.5, η 0.3".
func (c choice) String() string {
	switch {
	case c.option == "":
		return fmt.Sprintf("η %v", c.rate)
	case c.rate == 0:
		return c.option
	}
	return fmt.Sprintf("%s, η %v", c.option, c.rate)
}

// local is the clients' work.
func (c choice) local() fedkit.Local {
	return fedkit.Local{Epochs: 2, Batch: 10, LR: cmp.Or(c.rate, 0.1)}
}

// grid is what an algorithm is tuned on.
type grid []choice

// or has an option too, at the recommended rate of the clients.
func (g grid) or(option string, value float64) grid { return g.at(option, value, 0) }

// at has an option too, at some rates of the clients.
func (g grid) at(option string, value float64, rates ...float64) grid {
	g = slices.Clone(g)
	for _, rate := range rates {
		g = append(g, choice{option: option, value: value, rate: rate})
	}
	return g
}

// The rates of most algorithms.
var (
	high = grid{{rate: 0.3}, {rate: 1}}
	low  = grid{{rate: 0.03}, {rate: 0.3}}
)

// length is how long an algorithm runs, and how often it is evaluated.
type length struct{ rounds, every, everyOfLong int }

var (
	usual    = length{30, 3, 6}
	everyone = length{15, 3, 3}     // all clients take part, in half as many rounds
	single   = length{600, 60, 120} // a round is one result
	tens     = length{60, 6, 12}    // or ten
	fifths   = length{150, 15, 30}  // a fifth of the clients of a usual round
)

// algorithm is one that is compared.
type algorithm struct {
	name   string
	length length
	tuned  string // the best choice of the grid; empty: what is recommended
	grid   grid
	make   func(c choice) fedkit.Strategy
}

// best is the choice that is tuned.
func (a algorithm) best() choice {
	for _, c := range a.grid {
		if c.String() == a.tuned {
			return c
		}
	}
	return choice{}
}

// add adds the runs of a choice, with the seeds 1 to n.
func (a algorithm) add(plan *list, in setting, label string, c choice, rounds, every int, n uint64) {
	c.rounds = rounds
	net := study.Of(model.MLP, 32)
	if a.name == "APFL" {
		net = study.Of(examples.Twin, net)
	}
	keep := fedkit.Keep{Scores: fedkit.Never, Results: fedkit.Never, Clusters: fedkit.Never}
	options := fedkit.Options{Rounds: rounds, EvalEvery: every, Keep: keep}
	for seed := range seeds(n) {
		world := study.World{Data: mnist, Partition: in.rule(seed), Model: net, HoldOut: study.HeldOut{Clients: 8, Seed: 1},
			Devices: in.devices(seed)}
		plan.add(world, named{a.name, a.make(c)}, options, seed, "setting", in.name, "choice", label)
	}
}

// half of the clients take part in a round.
const half = 0.5

// algorithms are all that fedkit has, and what of theirs is tuned.
func algorithms() []algorithm {
	servers := high.or("server η 0.03", 0.03).or("server η 0.1", 0.1).at("server η 0.03", 0.03, 0.3, 1)
	adam := high.or("server η 0.03", 0.03).at("server η 0.003", 0.003, 0.3)
	prox := high.or("μ 0.01", 0.01)
	k2 := high.or("k 2", 2)
	return []algorithm{
		// One global model
		{"FedAvg", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &strategy.FedAvg{Fraction: half, Local: c.local()} }},
		{"FedAvg, small cohorts", fifths, "η 0.3", high, func(c choice) fedkit.Strategy { // as many at a time as in FedCluster
			return &strategy.FedAvg{Fraction: half / 5, Local: c.local()}
		}},
		{"FedSGD", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &strategy.FedSGD{Fraction: half, LR: c.rate} }},
		{"FedMiddleAvg", usual, "η 0.3", high, func(c choice) fedkit.Strategy {
			return &strategy.FedMiddleAvg{Fraction: half, Local: c.local()}
		}},
		{"FedAvgM", usual, "β 0.5, η 0.3", high.or("β 0.5", 0.5).at("β 0.5", 0.5, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.FedAvgM{Fraction: half, Local: c.local(), Server: server.Momentum{Beta: c.value}}
		}},
		{"FedAdagrad", usual, "server η 0.03", servers, func(c choice) fedkit.Strategy {
			return &strategy.FedAdagrad{Fraction: half, Local: c.local(), Server: server.Adagrad{LR: c.value}}
		}},
		{"FedAdam", usual, "server η 0.03", servers, func(c choice) fedkit.Strategy {
			return &strategy.FedAdam{Fraction: half, Local: c.local(), Server: server.Adam{LR: c.value}}
		}},
		{"FedYogi", usual, "server η 0.03", servers, func(c choice) fedkit.Strategy {
			return &strategy.FedYogi{Fraction: half, Local: c.local(), Server: server.Yogi{LR: c.value}}
		}},
		{"FedProx", usual, "η 0.3", prox, func(c choice) fedkit.Strategy {
			return &strategy.FedProx{Fraction: half, Local: c.local(), Mu: c.value}
		}},
		{"FedProx, adaptive μ", usual, "η 0.3", prox, func(c choice) fedkit.Strategy {
			return &strategy.FedProx{Fraction: half, Local: c.local(), Mu: c.value, Adaptive: true}
		}},
		{"SCAFFOLD", usual, "", low.or("server η 0.5", 0.5), func(c choice) fedkit.Strategy {
			return &strategy.SCAFFOLD{Fraction: half, Local: c.local(), Server: server.SGD{LR: c.value}}
		}},
		{"FedSplit", everyone, "s 10", low.or("s 10", 10).at("s 10", 10, 0.03, 0.3), func(c choice) fedkit.Strategy {
			return &strategy.FedSplit{Local: c.local(), Step: c.value}
		}},
		// Robust means
		{"FedMedian", usual, "", low, func(c choice) fedkit.Strategy { return &strategy.FedMedian{Fraction: half, Local: c.local()} }},
		{"TrimmedMean", usual, "η 0.3", high.or("20 % off", 0.2), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Aggregator: aggregate.TrimmedMean{Share: c.value}}
		}},
		{"Krum", usual, "", low, func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Aggregator: aggregate.Krum{}}
		}},
		{"Multi-Krum", usual, "η 0.3", high.or("F 5", 5), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Aggregator: aggregate.MultiKrum{F: int(c.value)}}
		}},
		{"GeometricMedian", usual, "η 0.3", high, func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Aggregator: aggregate.GeometricMedian{}}
		}},
		// Who takes part
		{"Diversity", usual, "η 0.3", high.or("T 10", 10), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Diversity{Temperature: c.value}}
		}},
		{"Hybrid", usual, "η 0.3", high.or("ratio 0.8", 0.8), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Hybrid{HighRatio: c.value}}
		}},
		{"Hybrid, explored", usual, "η 0.3", high.or("ε 0.3", 0.3), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Explore{Rate: c.value}}
		}},
		{"Dissimilarity", usual, "T 10, η 0.3", high.or("T 10", 10).at("T 10", 10, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Diversity{By: selection.Dissimilarity, Temperature: c.value}}
		}},
		{"Annealed", usual, "η 0.3", high, func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Annealed{Rounds: c.rounds}}
		}},
		{"Fair", usual, "η 0.3", high, func(c choice) fedkit.Strategy {
			return &strategy.FedAvg{Fraction: half, Local: c.local(), Selector: selection.Fair{Wait: 2}}
		}},
		{"SmartFedProx", usual, "η 0.3", prox, func(c choice) fedkit.Strategy {
			return &strategy.SmartFedProx{Fraction: half, Local: c.local(), Mu: c.value}
		}},
		// Time: 20 clients are at work, and the server steps after each result, or after 10
		{"FedAsync", single, "η 0.3", high.or("α 0.2", 0.2), func(c choice) fedkit.Strategy {
			return &strategy.FedAsync{Concurrency: 20, Local: c.local(), Alpha: c.value}
		}},
		{"FedBuff", tens, "η 0.3", high.or("server η 0.5", 0.5), func(c choice) fedkit.Strategy {
			return &strategy.FedBuff{Concurrency: 20, Local: c.local(), Server: server.SGD{LR: c.value}}
		}},
		{"CC-FedAdagrad", tens, "server η 0.03, η 0.3", servers, func(c choice) fedkit.Strategy {
			return &strategy.CCFL{Concurrency: 20, Local: c.local(), Server: server.Adagrad{Form: server.Reddi, LR: c.value}}
		}},
		{"CC-FedAdam", tens, "η 0.3", adam, func(c choice) fedkit.Strategy {
			return &strategy.CCFL{Concurrency: 20, Local: c.local(), Server: server.Adam{Form: server.Reddi, LR: c.value}}
		}},
		{"CC-FedAMS", tens, "η 0.3", adam, func(c choice) fedkit.Strategy {
			return &strategy.CCFL{Concurrency: 20, Local: c.local(), Server: server.AMSGrad{LR: c.value}}
		}},
		{"FedEff", usual, "η 0.3", high.or("τ 0.5", 0.5), func(c choice) fedkit.Strategy {
			return &strategy.FedEff{Fraction: half, Local: c.local(), Unit: 0.1, Tau: c.value}
		}},
		// Personal models
		{"LocalOnly", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &strategy.LocalOnly{Fraction: half, Local: c.local()} }},
		{"FedRep", usual, "", low.or("head 5 epochs", 5), func(c choice) fedkit.Strategy {
			return &strategy.FedRep{Fraction: half, Local: c.local(), HeadEpochs: int(c.value)}
		}},
		{"FedPRISM", usual, "centered, T 0.1, η 0.3", high.or("centered, T 0.1", 0.1).at("centered, T 0.1", 0.1, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.FedPRISM{K: 4, Fraction: half, Local: c.local(), Center: c.value > 0, Temperature: c.value}
		}},
		// Clustered models; where there are true groups, these are four
		{"FedClust", usual, "every 5 rounds, η 0.3", low.or("every 5 rounds", 5).at("every 5 rounds", 5, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.FedClust{K: 4, Fraction: half, Local: c.local(), Every: int(c.value)}
		}},
		{"FedClust, by cluster", usual, "", high, func(c choice) fedkit.Strategy {
			return &strategy.FedClust{K: 4, Fraction: half, Local: c.local(), Selector: selection.ByCluster{}}
		}},
		{"FedClust, one each", usual, "", low, func(c choice) fedkit.Strategy { // 4 clients in each round but the first
			return &strategy.FedClust{K: 4, Fraction: half, Local: c.local(), Selector: selection.OnePerCluster{}}
		}},
		{"FedClust, once", usual, "", low, func(c choice) fedkit.Strategy {
			return &strategy.FedClust{K: 4, Fraction: half, Local: c.local(), Once: true}
		}},
		{"IFCA", usual, "η 0.3", k2, func(c choice) fedkit.Strategy {
			return &strategy.IFCA{K: cmp.Or(int(c.value), 4), Fraction: half, Local: c.local()}
		}},
		{"IFCA, best of 5", usual, "η 0.3", k2, func(c choice) fedkit.Strategy {
			return &strategy.IFCA{K: cmp.Or(int(c.value), 4), Restarts: 5, Fraction: half, Local: c.local()}
		}},
		{"OneShot", usual, "η 0.3", high.or("5 times", 5), func(c choice) fedkit.Strategy {
			return &strategy.OneShot{K: 4, Fraction: half, Local: c.local(), WorkFactor: int(c.value)}
		}},
		{"CFL", usual, "ε 0.3, 0.6", high.or("ε 0.3, 0.6", 0.3).at("ε 0.3, 0.6", 0.3, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.CFL{Fraction: half, Local: c.local(), Eps1: c.value, Eps2: 2 * c.value}
		}},
		{"LCFL", usual, "η 0.3", high.or("warmup 2", 2), func(c choice) fedkit.Strategy {
			return &strategy.LCFL{K: 4, Fraction: half, Local: c.local(), Warmup: int(c.value)}
		}},
		{"FeSEM", usual, "η 0.3", k2, func(c choice) fedkit.Strategy {
			return &strategy.FeSEM{K: cmp.Or(int(c.value), 4), Fraction: half, Local: c.local()}
		}},
		{"FedAC", usual, "μ 1", high.or("μ 1", 1).at("μ 1", 1, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.FedAC{K: 4, Fraction: half, Local: c.local(), Mu: c.value}
		}},
		// Clusters that decide who trains when; one model
		{"FedCluster", usual, "η 0.3", k2, func(c choice) fedkit.Strategy {
			return &strategy.FedCluster{K: int(c.value), Fraction: half, Local: c.local()}
		}},
		{"FedSC", usual, "η 0.3", high.or("parallel", 1), func(c choice) fedkit.Strategy {
			return &strategy.FedSC{K: 4, Fraction: half, Local: c.local(), Parallel: c.value > 0}
		}},
		{"AdaptiveClustering", everyone, "sa 0.9, η 0.3", high.or("sa 0.9", 0.9).at("sa 0.9", 0.9, 0.3, 1), func(c choice) fedkit.Strategy {
			return &strategy.AdaptiveClustering{Local: c.local(), SAProb: c.value}
		}},
		// From notebooks/examples: written against its API
		{"APFL", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &examples.APFL{Fraction: half, Local: c.local()} }},
		{"Distill", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &examples.Distill{Fraction: half, Local: c.local()} }},
		{"Ditto", usual, "η 0.3", high.or("λ 1", 1), func(c choice) fedkit.Strategy {
			return &examples.Ditto{Fraction: half, Local: c.local(), Lambda: c.value}
		}},
		{"FedDyn", usual, "η 0.3", high.or("α 0.01", 0.01), func(c choice) fedkit.Strategy {
			return &examples.FedDyn{Fraction: half, Local: c.local(), Alpha: c.value}
		}},
		{"FedLC", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &examples.FedLC{Fraction: half, Local: c.local()} }},
		{"FedNova", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &examples.FedNova{Fraction: half, Local: c.local()} }},
		{"MOON", usual, "η 0.3", high, func(c choice) fedkit.Strategy { return &examples.MOON{Fraction: half, Local: c.local()} }},
		{"FedPer", usual, "η 0.3", high, func(c choice) fedkit.Strategy {
			return &examples.Partial{Personal: []string{"dense2"}, Fraction: half, Local: c.local()}
		}},
		{"LG-FedAvg", usual, "", low, func(c choice) fedkit.Strategy {
			return &examples.Partial{Personal: []string{"dense1"}, Fraction: half, Local: c.local()}
		}},
		{"QFedAvg", usual, "", low.or("q 5", 5), func(c choice) fedkit.Strategy {
			return &examples.QFedAvg{Fraction: half, Local: c.local(), Q: cmp.Or(c.value, 1)}
		}},
	}
}
