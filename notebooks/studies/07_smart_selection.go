package studies

import (
	"math"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// SmartSelection has SmartFedProx in its document's own configuration, and each of its decisions switched off.
//
// 10 clients hold all of CIFAR-10, half of them train a LeNet in each round, and half are evaluated: 75 runs. The defaults are the document's: C
// 0.5, hybrid selection (half from the high half, T 1, 2 random rounds, ε 0.1), E 1, B 32, η 0.1, μ 0.1, adaptive in [0.001, 1].
func SmartSelection() study.Plan {
	var plan list
	world := func(rule partition.Rule) study.World {
		return study.World{Data: cifar, Partition: rule, Model: study.Of(model.LeNet)}
	}
	add := func(s named, rounds int, clients string, rule func(seed uint64) partition.Rule) {
		for seed := range seeds(5) {
			plan.add(world(rule(seed)), s, fedkit.Options{Rounds: rounds, EvalFraction: 0.5}, seed, "clients", clients)
		}
	}
	nonIID := func(seed uint64) partition.Rule { return partition.Dirichlet{Clients: 10, Alpha: 0.3, Seed: seed} }
	add(named{"plan", &strategy.SmartFedProx{}}, 3, "non-IID", nonIID) // the plan's own number of rounds
	for _, s := range decisions() {
		if s.name != "uniform" && s.name != "published" {
			add(s, 10, "non-IID", nonIID)
		}
	}
	// More local work: μ_i grows by 1 + 0.1 (E − 1) = 1.4. The second line divides μ by 1.4, which takes the factor away.
	five := fedkit.Local{Epochs: 5, Batch: 32, LR: 0.1}
	add(named{"E 5", &strategy.SmartFedProx{Local: five}}, 4, "non-IID", nonIID)
	add(named{"E 5, no factor", &strategy.SmartFedProx{Local: five, Mu: 0.0714286}}, 4, "non-IID", nonIID)
	// The decisions are about clients that differ. Where they are alike, it is the algorithm and its two rivals.
	for _, s := range decisions() {
		if s.name == "SmartFedProx" || s.name == "FedAvg" || s.name == "μ 0" {
			add(s, 10, "IID", func(seed uint64) partition.Rule { return partition.IID{Clients: 10, Seed: seed} })
		}
	}
	return study.Plan(plan)
}

// explore wraps a rule of selection in random rounds.
func explore(rule fedkit.Selector) fedkit.Selector { return selection.Explore{Then: rule} }

// decisions are SmartFedProx, FedAvg, and SmartFedProx with one decision switched off. Round 1 is random under any rule: nothing is known yet.
func decisions() []named {
	return []named{
		{"SmartFedProx", &strategy.SmartFedProx{}},
		{"FedAvg", &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 1, Batch: 32, LR: 0.1}}},
		{"no cold start", &strategy.SmartFedProx{Selector: selection.Explore{ColdStart: 1}}},
		{"no exploration", &strategy.SmartFedProx{Selector: selection.Explore{Rate: fedkit.Zero}}},
		{"top ranks", &strategy.SmartFedProx{Selector: explore(selection.Hybrid{Temperature: fedkit.Zero})}},
		{"uniform", &strategy.SmartFedProx{Selector: explore(selection.Hybrid{Temperature: math.Inf(1)})}},
		{"published", &strategy.SmartFedProx{Selector: explore(selection.Hybrid{AsPublished: true})}},
		{"last drift", &strategy.SmartFedProx{Smoothing: 1}},
		{"diversity", &strategy.SmartFedProx{Selector: explore(selection.Diversity{})}},
		{"random", &strategy.SmartFedProx{Selector: selection.Random{}}},
		{"μ 0", &strategy.SmartFedProx{Mu: fedkit.Zero}},
	}
}

// Decisions has the same on the small digits: SmartFedProx with each of its decisions switched off, on ten clients that differ and on ten
// that are alike, and rules of selection on 20 clients, a fifth of them in each round.
func Decisions() study.Plan {
	var plan list
	options := fedkit.Options{EvalFraction: 0.5, Keep: fedkit.Keep{Scores: fedkit.Never}}
	add := func(rule partition.Rule, name string, s fedkit.Strategy, n uint64, labels ...any) {
		for seed := range n {
			plan.add(study.World{Data: digits, Partition: rule, Model: study.Of(model.MLP, 64)}, named{name, s}, options, seed, labels...)
		}
	}
	for _, s := range decisions() {
		options.Rounds = 30
		add(partition.Dirichlet{Clients: 10, Alpha: 0.3, Seed: 1}, s.name, s.strategy, 10, "clients", "non-IID")
		options.Rounds = 20
		add(partition.IID{Clients: 10, Seed: 1}, s.name, s.strategy, 5, "clients", "IID")
	}
	options.Rounds, options.EvalFraction = 40, 0
	twenty := partition.Dirichlet{Clients: 20, Alpha: 0.3, Seed: 1}
	smart := func(name string, rule fedkit.Selector) {
		add(twenty, name, &strategy.SmartFedProx{Fraction: 0.2, Selector: rule}, 10, "clients", "20", "μ", "adaptive")
	}
	smart("random", selection.Random{})
	smart("diversity", explore(selection.Diversity{}))
	smart("hybrid", explore(selection.Hybrid{}))
	smart("warm hybrid", explore(selection.Hybrid{Temperature: 20}))
	smart("loss", explore(selection.Diversity{By: selection.Loss}))
	smart("dissimilarity", explore(selection.Diversity{By: selection.Dissimilarity}))
	smart("annealed", explore(selection.Annealed{From: 20, To: 1, Rounds: 40}))
	smart("fair diversity", selection.Fair{Wait: 8, Quota: 0.4, Then: explore(selection.Diversity{})})
	fixed := &strategy.FedProx{Fraction: 0.2, Mu: 0.1, Local: fedkit.Local{Epochs: 1, Batch: 32, LR: 0.1}}
	add(twenty, "random", fixed, 10, "clients", "20", "μ", "fixed")
	return study.Plan(plan)
}
