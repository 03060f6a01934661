package strategy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
)

// The local solver in the tables.
var (
	standard = every.Local
	proximal = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Prox: 0.3}
)

// all has every strategy, with options that suit fedtest.Quadratic.
func all() map[string]fedkit.Strategy { return every.Strategies() }

// Options can be checked before there is a federation.
func TestCheckWithoutFederation(t *testing.T) {
	for name, s := range all() {
		err := fedkit.Check(s, nil, 6)
		expect.That(t, err == nil, "%s: %v", name, err)
	}
}

func TestEveryStrategy(t *testing.T) {
	expect.Long(t, "one run after the other: TestSideBySide runs all of them at once")
	strategies := all()
	for _, name := range slices.Sorted(maps.Keys(strategies)) {
		s := strategies[name]
		t.Run(name, func(t *testing.T) {
			suite := fedtest.Suite{}
			suite.FullParticipation, suite.NoClock = name == "FedAvg, Multi-Krum", name == "FedSplit, exact" || name == "FedSplit, sketched"
			suite.Warmup = every.Warmup(s)
			if _, ok := s.(*strategy.FedEff); ok {
				suite.Devices = slowAndFast
			}
			expect.Outcome(t, "")(suite.Test(s))
		})
	}
}

// The clock of every strategy is the bytes of each client at their rate, plus the latency of the messages that have any, plus the
// computation. A message takes 1e6 s, each of the 5 parameters 1e3 s, and an example 1 s.
func TestClockOfEveryStrategy(t *testing.T) {
	fed := with(t, quadratic(t, even...), slices.Repeat(sim.Given{{PerExample: 1, Down: 4e-3, Up: 4e-3, Latency: 1e6}}, 6))
	messages := map[string][]int{ // one after another, in the first two rounds; usually a model down and one up
		"LocalOnly": {0, 0}, "LocalOnly, some": {0, 0},
		"AdaptiveClustering": {3, 3},                                                // one client per cluster trains again; it has x already
		"FedCluster":         {4, 4}, "FedCluster, chosen": {6, 6}, "FedSC": {6, 4}, // cluster by cluster; FedSC has a round more at first
		"FedSC, parallel": {4, 2},
		"LCFL":            {2, 3}, "LCFL, any k": {3, 2}, // once, clients have all models to compare
	}
	inTurn := map[string]bool{"AdaptiveClustering": true, "FedCluster": true, "FedCluster, chosen": true, "FedSC": true, "FedSC, parallel": true}
	for name, s := range all() {
		h, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2, EvalEvery: 2})
		if name == "FedSplit, exact" || name == "FedSplit, sketched" { // not on devices
			expect.Invalid(t)(err)
			continue
		}
		expect.OK(t, err)
		asynchronous := reflect.Indirect(reflect.ValueOf(s)).FieldByName("Concurrency").IsValid()
		if asynchronous { // later rounds end with what began before
			h.Rounds = h.Rounds[:1]
		}
		before := 0
		for i, r := range h.Rounds {
			want := 2
			if m := messages[name]; m != nil {
				want = m[i]
			}
			took := int(r.Clock) - before
			before = int(r.Clock)
			expect.That(t, took/1e6 == want, "%s, round %d: %d messages one after another, want %d", name, i+1, took/1e6, want)
			each := int(r.BytesDown+r.BytesUp) / 4 / len(r.Results)
			got := took / 1e3 % 1e3
			expect.That(t, got == each || asynchronous || inTurn[name],
				"%s, round %d: %d parameters took their time, of %d for each client", name, i+1, got, each)
			expect.That(t, took%1e3 >= 8, "%s, round %d: %d examples took their time", name, i+1, took%1e3)
		}
	}
}

// A client whose update is NaN, and is skipped, is as one whose update does not arrive: every strategy goes on with the rest.
func TestSkippedIsAbsent(t *testing.T) {
	expect.Long(t, "two runs of every strategy")
	fed, never := quadratic(t, even...), slices.Repeat(sim.Given{{PerExample: 1}}, 6)
	never[2].Up = 1e-6
	late, nan := with(t, fed, never), with(t, fed, slices.Repeat(sim.Given{{PerExample: 1}}, 6)).Intercept(poison(2))
	again, skipped := all(), 0
	for name, s := range all() {
		switch s.(type) {
		case *strategy.FedAsync, *strategy.FedBuff, *strategy.CCFL: // without deadlines: see TestAsynchronousSkips
			continue
		case *strategy.FedSplit, *strategy.FedEff: // they refuse devices, or look at their times
			continue
		}
		h, err := fedkit.Run(t.Context(), nan, s, fedkit.Options{Rounds: 1, NotFinite: fedkit.Skip})
		if name == "FedCluster, chosen" && errors.Is(err, fedkit.ErrNotFinite) { // client 2 is a cluster of its own: nothing is left
			continue
		}
		expect.OK(t, err)
		a := h.Last()
		if slices.ContainsFunc(a.Results, func(s fedkit.ClientResult) bool { return s.Skipped }) {
			skipped++
		}
		b := run(t, late, again[name], fedkit.Options{Rounds: 1, Pace: fedkit.Pace{Deadline: 1e4}}).Last()
		for i := range a.Scores {
			if x, y := float64(a.Scores[i].Loss), float64(b.Scores[i].Loss); !(math.Abs(x-y) <= 1e-5*(1+math.Abs(y))) {
				t.Errorf("%s: client %d has a loss of %v, want %v, that without client 2", name, i, x, y)
			}
		}
	}
	expect.That(t, skipped >= 20, "client 2 took part in %d strategies", skipped)
}

// Algorithms that must be the same, up to the rounding of float32.
func TestIdentities(t *testing.T) {
	expect.Long(t, "identities")
	l := standard
	one := []int{30}
	full := fedkit.Local{Batch: fedkit.FullBatch, LR: 0.2}
	with := func(by fedkit.Aggregator) *strategy.FedAvg { return &strategy.FedAvg{Aggregator: by, Local: l} }
	mean, equal, n := &strategy.FedAvg{Local: l}, &strategy.FedAvg{Weighting: strategy.Equal{}, Local: l}, strategy.ByExamples{}
	for _, c := range []struct {
		name  string
		sizes []int
		a, b  fedkit.Strategy
	}{
		{"FedSGD = FedAvg with one epoch of one full batch", uneven, &strategy.FedSGD{LR: 0.2}, &strategy.FedAvg{Local: full}},
		{"FedMedian with one client = FedAvg", one, &strategy.FedMedian{Local: l}, mean},
		{"FedAvg with one client = LocalOnly", one, mean, &strategy.LocalOnly{Local: l}},
		{"FedAvg with Local.Prox and μ = 0 = FedAvg", uneven, &strategy.FedAvg{Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Prox: fedkit.Zero}}, mean},

		{"the trimmed mean that trims nothing = FedAvg", uneven, with(aggregate.TrimmedMean{Share: fedkit.Zero}), equal},
		{"the trimmed mean that trims most = FedMedian", uneven, with(aggregate.TrimmedMean{Share: 0.49}), &strategy.FedMedian{Local: l}},
		{"Multi-Krum that keeps all = FedAvg", uneven, with(aggregate.MultiKrum{M: 6}), equal},
		{"Multi-Krum that keeps one = Krum", uneven, with(aggregate.MultiKrum{F: 1, M: 1}), with(aggregate.Krum{F: 1})},
		{"the trimmed mean of one client = FedAvg", one, with(aggregate.TrimmedMean{}), mean},
		{"the nearest mix of one client = FedAvg", one, with(aggregate.NearestMix{}), mean},
		{"the geometric median of one client = FedAvg", one, with(aggregate.GeometricMedian{}), mean},

		{"FedAvgM with β = 0, η = 1 = FedAvg", uneven, &strategy.FedAvgM{Local: l, Server: server.Momentum{Beta: fedkit.Zero}}, mean},
		{"FedMiddleAvg = FedAvg with server rate 1/2", uneven, &strategy.FedMiddleAvg{Local: l}, &strategy.FedOpt{Local: l, Server: server.SGD{LR: 0.5}}},
		{"FedOpt with SGD and η = 1 = FedAvg", uneven, &strategy.FedOpt{Fraction: 0.5, Local: l, Server: server.SGD{}}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"FedOpt with SGD, η = 1 and a median = FedMedian", uneven,
			&strategy.FedOpt{Local: l, Aggregator: aggregate.Median{}, Server: server.SGD{}}, &strategy.FedMedian{Local: l}},
		{"FedAvgM with β = 0 and one full batch = FedSGD", uneven,
			&strategy.FedAvgM{Local: full, Server: server.Momentum{Beta: fedkit.Zero}}, &strategy.FedSGD{LR: 0.2}},
		{"FedOpt with Adagrad = FedAdagrad", uneven, &strategy.FedOpt{Local: l, Server: server.Adagrad{}}, &strategy.FedAdagrad{Local: l}},
		{"FedOpt with Adam = FedAdam", uneven, &strategy.FedOpt{Local: l, Server: server.Adam{}}, &strategy.FedAdam{Local: l}},
		{"FedOpt with Yogi = FedYogi", uneven, &strategy.FedOpt{Local: l, Server: server.Yogi{}}, &strategy.FedYogi{Local: l}},

		{"FedProx = FedAvg with Local.Prox", uneven, &strategy.FedProx{Mu: 0.3, Local: l}, &strategy.FedAvg{Local: proximal}},
		{"FedProx with Mu = 0 = FedAvg", uneven, &strategy.FedProx{Mu: fedkit.Zero, Local: l}, mean},
		{"FedProx with μ_i held to 0.3", uneven, &strategy.FedProx{Adaptive: true, MuMin: 0.3, MuMax: 0.3, Local: l}, &strategy.FedAvg{Local: proximal}},
		{"FedProx with half steps = FedMiddleAvg", uneven,
			&strategy.FedProx{Mu: fedkit.Zero, Local: l, Server: server.SGD{LR: 0.5}}, &strategy.FedMiddleAvg{Local: l}},
		{"SmartFedProx during its cold start = FedProx with random clients", uneven,
			&strategy.SmartFedProx{Selector: selection.Explore{ColdStart: 6}}, &strategy.FedProx{Fraction: 0.5, Adaptive: true}},
		{"SmartFedProx with random clients and μ_i held to 0 = FedAvg", uneven,
			&strategy.SmartFedProx{Selector: selection.Random{}, MuMin: fedkit.Zero, MuMax: fedkit.Zero}, &strategy.FedAvg{Fraction: 0.5, Aggregator: aggregate.Mean{}}},
		{"SCAFFOLD with one client = FedAvg", one, &strategy.SCAFFOLD{Local: l}, mean},

		{"FedBuff that waits for everyone = FedAvg", uneven, &strategy.FedBuff{Concurrency: 6, K: 6, Weighting: n, Local: l}, mean},
		{"FedBuff with momentum and β = 0 = FedBuff", uneven, &strategy.FedBuff{Concurrency: 4, K: 2, Server: server.Momentum{Beta: fedkit.Zero}, Local: l}, &strategy.FedBuff{Concurrency: 4, K: 2, Local: l}},
		{"FedBuff with K = 1 = FedAsync with Updates", uneven, &strategy.FedBuff{Concurrency: 3, K: 1, Server: server.SGD{LR: 0.6}, Local: l}, &strategy.FedAsync{Concurrency: 3, Updates: true, Local: l}},
		{"CCFL that waits for everyone = FedOpt", uneven, &strategy.CCFL{Concurrency: 6, M: 6, Weighting: n, Server: server.Momentum{LR: 4}, Local: fedkit.Local{Steps: 4, Batch: 8, LR: 0.05}},
			&strategy.FedOpt{Server: server.Momentum{}, Local: fedkit.Local{Steps: 4, Batch: 8, LR: 0.05}}},
		{"FedAsync with one client at work, in both forms", uneven, &strategy.FedAsync{Concurrency: 1, Local: l}, &strategy.FedAsync{Concurrency: 1, Updates: true, Local: l}},
		{"FedEff with equal epochs = FedAvg", uneven, &strategy.FedEff{Equal: true, Fraction: 0.5, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},

		{"FedRep with an empty head = FedAvg", uneven, &strategy.FedRep{Head: []string{}, Weighting: strategy.Equal{}, Local: l}, equal},
		{"FedRep with an empty head, some clients", uneven,
			&strategy.FedRep{Head: []string{}, HeadEpochs: 5, Fraction: 0.5, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"FedRep whose head is the whole model = LocalOnly", uneven, &strategy.FedRep{Local: l}, &strategy.LocalOnly{Local: l}},
		{"FedRep, a head of all layers", uneven, &strategy.FedRep{Head: []string{"dense1"}, HeadEpochs: 2, Local: l}, &strategy.LocalOnly{Local: l}},

		{"FedCluster with one cluster = FedAvg", uneven, &strategy.FedCluster{K: 1, Weighting: strategy.Equal{}, Local: l}, equal},
		{"FedCluster with one cluster, some clients", uneven,
			&strategy.FedCluster{Clusters: make([]int, 6), Fraction: 0.5, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"FedCluster with one cluster and a selector", uneven,
			&strategy.FedCluster{K: 1, Fraction: 0.5, Selector: fedkit.SelectorFunc(every.Sorted), Local: l},
			&strategy.FedAvg{Fraction: 0.5, Selector: fedkit.SelectorFunc(every.Sorted), Local: l}},

		{"AdaptiveClustering with p = M and the first training = FedAvg", uneven, &strategy.AdaptiveClustering{SAProb: 1, Reuse: true, Weighting: n, Local: l}, mean},
		{"AdaptiveClustering in its warm-up = FedAvg", uneven, &strategy.AdaptiveClustering{Warmup: 99, Weighting: n, Local: l}, mean},
		{"AdaptiveClustering with p = M and full batches = FedAvg", uneven, &strategy.AdaptiveClustering{SAProb: 1, Weighting: n, Local: full}, &strategy.FedAvg{Local: full}},
		{"AdaptiveClustering with p = M, one client", one, &strategy.AdaptiveClustering{Reuse: true, Local: l}, mean},
		{"FedAC with μ = λ = 0 = LocalOnly", uneven, &strategy.FedAC{Mu: fedkit.Zero, Lambda: fedkit.Zero, Local: l}, &strategy.LocalOnly{Local: l}},
		{"FedAC with μ = λ = 0, some clients", uneven,
			&strategy.FedAC{K: 3, Mu: fedkit.Zero, Lambda: fedkit.Zero, Fraction: 0.5, Local: l}, &strategy.LocalOnly{Fraction: 0.5, Local: l}},
		{"FedAC with μ = λ = 0, one client", one, &strategy.FedAC{Mu: fedkit.Zero, Lambda: fedkit.Zero, Local: l}, mean},
		{"IFCA with k = 1 = FedAvg", uneven, &strategy.IFCA{K: 1, Weighting: n, Local: l}, mean},
		{"IFCA by stochastic gradients with k = 1 = FedSGD", uneven, &strategy.IFCA{K: 1, Gradients: true, Gamma: 0.2, Batch: 4, Weighting: n}, &strategy.FedSGD{LR: 0.2, Batch: 4}},
		{"IFCA of all clients with half of them = half the γ", uneven, &strategy.IFCA{K: 2, Fraction: 0.5, Gradients: true, Gamma: 0.2, AllClients: true}, &strategy.IFCA{K: 2, Fraction: 0.5, Gradients: true, Gamma: 0.1}},
		{"IFCA of all clients, who all take part = of the round's", uneven, &strategy.IFCA{K: 2, Gradients: true, AllClients: true}, &strategy.IFCA{K: 2, Gradients: true}},
		{"IFCA by gradients with k = 1 = FedSGD", uneven, &strategy.IFCA{K: 1, Gradients: true, Gamma: 0.2, Weighting: n}, &strategy.FedSGD{LR: 0.2}},
		{"OneShot with K = 1 and WorkFactor = 1 = FedAvg", uneven, &strategy.OneShot{K: 1, WorkFactor: 1, Local: l}, mean},
		{"LCFL with K = 1 = FedAvg", uneven, &strategy.LCFL{K: 1, Warmup: 2, Weighting: n, Local: l}, mean},
		{"CFL with ε₁ = 0 = FedAvg", uneven, &strategy.CFL{Fraction: 0.5, Eps1: fedkit.Zero, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"FedClust with K = 1 = FedAvg", uneven, &strategy.FedClust{K: 1, Fraction: 0.5, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"FedClust with K = 1 and few groupings", uneven, &strategy.FedClust{K: 1, Every: 3, Layers: []string{"dense1/biases"}, Clusterer: cluster.KMeans{}, Weighting: strategy.Equal{}, Local: l}, equal},
		{"FedClust with every client alone = LocalOnly", uneven, &strategy.FedClust{K: 6, Local: l}, &strategy.LocalOnly{Local: l}},
		{"FedClust with a low threshold = LocalOnly", uneven, &strategy.FedClust{Clusterer: cluster.Agglomerative{Linkage: cluster.Single, Height: 1e-9}, Local: l}, &strategy.LocalOnly{Local: l}},
		{"FeSEM with K = 1 = FedAvg", uneven, &strategy.FeSEM{K: 1, Fraction: 0.5, Weighting: n, Local: l}, &strategy.FedAvg{Fraction: 0.5, Local: l}},
		{"Fed-PRISM with K = 1 = FedAvg with equal weights", uneven, &strategy.FedPRISM{K: 1, Every: 2, Alpha: 0.3, Local: l}, equal},
		{"Fed-PRISM with K = 1, averaged models and adaptive α", uneven, &strategy.FedPRISM{K: 1, Every: 1, AlphaStep: 0.1, Average: true, Weighting: n, Local: l}, mean},
		{"Fed-PRISM with K = 1 and centering", uneven, &strategy.FedPRISM{K: 1, Every: 1, Alpha: fedkit.Zero, Center: true, Weighting: n, Local: l}, mean},
	} {
		err := fedtest.Identical(c.a, c.b, c.sizes...)
		expect.That(t, err == nil, "%s: %v", c.name, err)
	}
}

// What no tag says: ranges of single options are tried by fedtest.Suite, with those of local solvers, and those of parts in their packages.
func TestOptionsThatAreRefused(t *testing.T) {
	fed := quadratic(t, 4, 4)
	with := func(by fedkit.Aggregator) *strategy.FedAvg { return &strategy.FedAvg{Aggregator: by, Local: standard} }
	for want, s := range map[string]fedkit.Strategy{
		"FedAvg: invalid: Fraction = NaN: must be in (0, 1], or 0 for every client":                                       &strategy.FedAvg{Fraction: math.NaN()},
		"FedAvg: invalid: Aggregator.F = 0: must be such that n ≥ 2f+3; a round has n = 2 clients":                        with(aggregate.Krum{}),
		"FedAvg: invalid: Aggregator.F = 1: must be such that n ≥ 2f+1; a round has n = 2 clients":                        with(aggregate.NearestMix{F: 1}),
		"FedAvg: invalid: Selector.Seconds = 3 times: must be 2, one per client":                                          &strategy.FedAvg{Selector: selection.Bandwidth{Seconds: make([]float64, 3)}},
		"AdaptiveClustering: invalid: P = 3: must be at most 2, the number of clients":                                    &strategy.AdaptiveClustering{P: 3},
		"AdaptiveClustering: invalid: Reuse = true: must be false if AsPublished is set: the published code trains again": &strategy.AdaptiveClustering{Reuse: true, AsPublished: true},
		"FedClust: invalid: MultiStart = true: must be false if Once is set: all clients train one initial model":         &strategy.FedClust{MultiStart: true, Once: true, K: 2},
		"FedClust: invalid: K = 0: must be at least 1 if MultiStart is set":                                               &strategy.FedClust{MultiStart: true},
		`FedClust: option Layers: invalid: layer = "head": must be one of dense1/weights, dense1/biases, or the part of one before a slash`: &strategy.FedClust{
			Layers: []string{"head"}},
		"FedAsync: invalid: Concurrency = 3: must be at most 2, the number of clients":            &strategy.FedAsync{Concurrency: 3},
		"FedBuff: invalid: K = 3: must be at most 2, which is Concurrency":                        &strategy.FedBuff{K: 3},
		"FedBuff: invalid: K = 2: must be at most 1, which is Concurrency":                        &strategy.FedBuff{Concurrency: 1, K: 2},
		"CCFL: invalid: M = 2: must be at most 1, which is Concurrency":                           &strategy.CCFL{Concurrency: 1, M: 2},
		"CCFL: invalid: StepsMin = 5: must be at most 4, which is StepsMax":                       &strategy.CCFL{StepsMin: 5, StepsMax: 4},
		"FedPRISM: invalid: M = 4: must be in [1, K], or 0 for K":                                 &strategy.FedPRISM{M: 4},
		"FedCluster: invalid: len(Clusters) = 3: must be 2, one per client":                       &strategy.FedCluster{Clusters: []int{0, 1, 1}},
		"FedCluster: invalid: Clusters = [0 -1]: must be in [0, 2)":                               &strategy.FedCluster{Clusters: []int{0, -1}},
		"FedCluster: invalid: Clusters = [0 2]: must be in [0, 2)":                                &strategy.FedCluster{Clusters: []int{0, 2}},
		"FedCluster: invalid: Clusters = [0 1]: must be nil if Clusterer is set: use one of them": &strategy.FedCluster{Clusters: []int{0, 1}, Clusterer: cluster.KMeans{}},
		"FedCluster: invalid: Clusterer = cluster.KMeans: must be nil for data without labels":    &strategy.FedCluster{Clusterer: cluster.KMeans{}},
		"FedSC: invalid: Updates = false: must be true for data without labels":                   &strategy.FedSC{},
		"FedAC: invalid: K = 3: must be at most 2, the number of clients":                         &strategy.FedAC{K: 3},
		"FedAC: invalid: A = 0.5: must be less than B = 0.5":                                      &strategy.FedAC{A: 0.5},
		"FedAC: invalid: Local.Prox = 0.3: must be 0: FedAC takes μ from Mu":                      &strategy.FedAC{Local: proximal},
		"FedYogi: invalid: Server.Form = Form(7): must be server.Corrected or server.Reddi":       &strategy.FedYogi{Server: server.Yogi{Form: 7}},
		"FedOpt: invalid: Server = nil: must be a server optimizer, such as server.Adam{}":        &strategy.FedOpt{},
		"FedProx: invalid: Local.Prox = 0.3: must be 0: FedProx takes its μ from Mu":              &strategy.FedProx{Local: proximal},
		"FedProx: invalid: MuMin = 0.2: must be at most 0.1, which is MuMax":                      &strategy.FedProx{MuMin: 0.2, MuMax: 0.1},
		"FedProx: invalid: MuMin = 2: must be at most 1, which is MuMax":                          &strategy.FedProx{MuMin: 2},
		"SmartFedProx: invalid: MuMin = 2: must be at most 1, which is MuMax":                     &strategy.SmartFedProx{MuMin: 2},
		"SCAFFOLD: invalid: Local.Optimizer = fedkit.Adam: must be fedkit.SGD, or fedkit.Momentum without KeepMemory, unless Gradients is set for option I": &strategy.SCAFFOLD{
			Local: fedkit.Local{Batch: 8, LR: 0.1, Optimizer: fedkit.Adam{}}},
		"SCAFFOLD: invalid: Local.Optimizer = fedkit.Momentum: must be fedkit.SGD, or fedkit.Momentum without KeepMemory, unless Gradients is set for option I": &strategy.SCAFFOLD{
			Local: fedkit.Local{Batch: 8, LR: 0.1, Optimizer: fedkit.Momentum{}, KeepMemory: true}},
		"FedSplit: invalid: Local.Prox = 0.3: must be 0: FedSplit takes its proximal term from Step":             &strategy.FedSplit{Local: proximal},
		"FedSplit: invalid: Local = local steps: must be left out if Exact or Newton is set":                     &strategy.FedSplit{Exact: true, Local: standard},
		"FedSplit: invalid: Sketch = 9: must be 0 without Newton":                                                &strategy.FedSplit{Sketch: 9},
		"FedSplit: invalid: Newton = 2: must be 0 if Exact is set, which takes as many steps as it needs":        &strategy.FedSplit{Newton: 2, Exact: true},
		"FedSplit: invalid: ColdStart = true: must be false if Exact or Newton is set: there are no local steps": &strategy.FedSplit{Exact: true, ColdStart: true},
		`FedAC: option Head: invalid: layer = "dense7": must be one of dense1/weights, dense1/biases, or the part of one before a slash`: &strategy.FedAC{
			Head: []string{"dense7"}},
		`FedRep: option Head: invalid: layer = "dense7": must be one of dense1/weights, dense1/biases, or the part of one before a slash`: &strategy.FedRep{
			Head: []string{"dense1", "dense7"}},
	} {
		_, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && err.Error() == "fedkit: "+want, "error %v\nwant fedkit: %s", err, want)
	}
}

// Strategies that compare all pairs of clients are rejected before they run if the pairs do not fit into memory: a million
// clients take 13 TB.
func TestTooManyClientsToCompareAreRefused(t *testing.T) {
	const n = 1 << 20
	small := logistic(t)
	many := *small
	many.Clients = make([]partition.Client, n)
	for field, all := range map[string][]fedkit.Strategy{
		"clients per round": {&strategy.FedClust{K: 2}, &strategy.FeSEM{}, &strategy.FedPRISM{}},
		"clients":           {&strategy.FedClust{K: 2, Once: true}, &strategy.OneShot{}, &strategy.LCFL{}, &strategy.AdaptiveClustering{}, &strategy.FedSC{Updates: true}},
	} {
		for _, s := range all {
			want := field + " = 1048576: must be at most "
			expect.Error(t, want, ": the products of all pairs take 13 TB, and ")(s.(fedkit.Checker).Check(&many, n))
			err := s.(fedkit.Checker).Check(small, small.Size())
			expect.That(t, err == nil, "%T: error %v for %d clients", s, err, small.Size())
		}
	}
}

// Runs may be concurrent in one process: all strategies at once give the same results as one by one.
func TestSideBySide(t *testing.T) {
	fed := quadratic(t, uneven...)
	records := func(s fedkit.Strategy, workers int) []byte {
		h, err := fedkit.Run(t.Context(), on(fed, s), s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 7, Concurrency: workers})
		if err != nil {
			return fmt.Append(nil, err)
		}
		b, err := fedtest.Outcome(nil, h)
		if err != nil {
			return fmt.Append(nil, err)
		}
		return b
	}

	var atOnce sync.Map
	var runs sync.WaitGroup
	for name, s := range all() {
		runs.Go(func() { atOnce.Store(name, records(s, 2)) })
	}
	runs.Wait()
	for name, s := range all() {
		got, _ := atOnce.Load(name)
		want := records(s, 1)
		expect.That(t, bytes.Equal(got.([]byte), want) && want[0] == '{', "%s: at once\n%s\nalone\n%s", name, got, want)
	}
}

// Options.EvalFraction changes who is scored, and nothing else: global, assigned and mixed models, and unseen clients.
func TestEvalFraction(t *testing.T) {
	fed := expect.Value(quadratic(t, 20, 31, 8, 24, 17, 40, 9).HoldOut(1, 1))(t)
	for name, make := range map[string]func() fedkit.Strategy{
		"global": func() fedkit.Strategy { return &strategy.FedAvg{Fraction: 0.5, Local: standard} },
		"assigned": func() fedkit.Strategy {
			return &strategy.FedRep{Head: []string{"dense1/biases"}, Fraction: 0.5, Local: standard}
		},
		"mixed": func() fedkit.Strategy { return &strategy.FedPRISM{K: 2, Every: 2, Fraction: 0.5, Local: standard} },
	} {
		o := fedkit.Options{Rounds: 6, EvalEvery: 2, Seed: 3}
		all := run(t, fed, make(), o)
		o.EvalFraction = 0.5
		some := run(t, fed, make(), o)
		o.Rounds, o.Checkpoint = 4, t.TempDir()+"/checkpoint"
		run(t, fed, make(), o)
		o.Rounds = 6
		resumed := run(t, fed, make(), o)
		cohorts := map[string]bool{}
		for i, r := range some.Rounds {
			whole, drawn, loss, n := all.Rounds[i], "", 0.0, 0
			expect.That(t, fmt.Sprint(whole.Results) == fmt.Sprint(r.Results) && fmt.Sprint(whole.Unseen) == fmt.Sprint(r.Unseen) && fmt.Sprint(resumed.Rounds[i].Scores) == fmt.Sprint(r.Scores),
				"%s: round %d: training, unseen clients or the resumed run differ", name, r.Round)
			for c, s := range r.Scores {
				if s.Examples == 0 {
					continue
				}
				want := whole.Scores[c]
				expect.That(t, s.Examples == want.Examples && near(float64(s.Loss), float64(want.Loss)),
					"%s: round %d, client %d: %+v, want %+v", name, r.Round, c, s, want)
				drawn, loss, n = drawn+fmt.Sprint(c, " "), loss+float64(s.Loss)*float64(s.Examples), n+s.Examples
			}
			if r.Scores == nil {
				continue
			}
			cohorts[drawn] = true
			m := r.Mean()
			expect.That(t, len(drawn) == 2*3 && m.Examples == n && near(float64(m.Loss), loss/float64(n)),
				"%s: round %d: clients %sare scored, mean %+v over %d examples", name, r.Round, drawn, r.Mean(), n)
		}
		expect.That(t, len(cohorts) >= 2, "%s: the same clients are evaluated in every round: %v", name, cohorts)
		err := plot.ClientAccuracy(some).Err()
		expect.That(t, err == nil, "%v %v", name, err)
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

// A strategy that does not average models would make running values that no data has: it is refused by field, before round 1.
// Those that average keep variances positive.
func TestRunningValues(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.BatchNormMLP(4)))
	since := ": must be one that averages the clients' models, since bn1/mean of BN-MLP-4 is a running value"
	for want, s := range map[string]fedkit.Strategy{
		"FedSGD: invalid: LR = 2":                  &strategy.FedSGD{LR: 2},
		"IFCA: invalid: Gamma = 2":                 &strategy.IFCA{Gradients: true, Gamma: 2},
		"FedSC: invalid: Eta = 2":                  &strategy.FedSC{Parallel: true, Eta: 2},
		"AdaptiveClustering: invalid: AsPublished": &strategy.AdaptiveClustering{AsPublished: true},
		"FedSplit: invalid: strategy = FedSplit":   &strategy.FedSplit{},
		"FedPRISM: invalid: strategy = FedPRISM":   &strategy.FedPRISM{},
		"FedBuff: invalid: strategy = FedBuff":     &strategy.FedBuff{},
		"CCFL: invalid: strategy = CCFL":           &strategy.CCFL{},
		"FedAsync: invalid: Updates = true":        &strategy.FedAsync{Updates: true},
	} {
		expect.Invalid(t, want, since)(fedkit.Describe(fed, s, fedkit.Options{Rounds: 1}))
	}
	local := fedkit.Local{Batch: 16, LR: 0.1}
	optimizedOrAveraged(t, fed, local)
	avg, scaffold := &strategy.FedAvg{Local: local}, &strategy.SCAFFOLD{Local: local, Server: server.Adam{}}
	for s, x := range map[fedkit.Strategy]func() *fedkit.Matrix{avg: func() *fedkit.Matrix { return avg.X }, scaffold: func() *fedkit.Matrix { return scaffold.State.X }} {
		run(t, fed, s, fedkit.Options{Rounds: 3, EvalEvery: 3})
		w, variance := must.M1(x().Host()), must.M1(fed.Task.Mask("bn1/variance"))
		for j := range w {
			expect.That(t, variance[j] != 1 || w[j] > 0 && w[j] != 1, "%T: a running variance is %v after three rounds", s, w[j])
		}
	}
}

// optimizedOrAveraged fails unless the running values after a round with a server optimizer are those of FedAvg, and the rest moves by the
// optimizer's step for FedAvg's Δ.
func optimizedOrAveraged(t *testing.T, fed *fedkit.Federation, local fedkit.Local) {
	once := fedkit.Options{Rounds: 1}
	avg := &strategy.FedAvg{Local: local}
	run(t, fed, avg, once)
	x, start := must.M1(avg.X.Host()), must.M1(must.M1(fed.Models(1, 0)).Host())
	running := must.M1(fed.Task.Mask("bn1/mean", "bn1/variance"))
	delta := make([]float32, len(x))
	for j := range x {
		delta[j] = x[j] - start[j]
	}
	for _, o := range []fedkit.ServerOptimizer{server.SGD{LR: 1.5}, server.Momentum{}, server.Adagrad{}, server.Adam{}, server.Yogi{}, server.AMSGrad{}} {
		s := &strategy.FedOpt{Local: local, Server: o}
		run(t, fed, s, once)
		w, step := must.M1(s.X.Host()), must.M1(first(o.Step(fedkit.NewMatrix(delta, 1, len(delta)), nil, 1)).Host())
		for j := range w {
			want := x[j]
			if running[j] == 0 {
				want = start[j] + step[j]
			}
			expect.That(t, math.Abs(float64(w[j]-want)) <= 1e-5*(1+math.Abs(float64(want))), "%T: parameter %d, running %v: %v, want %v", o, j, running[j], w[j], want)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// weighted returns a copy of a strategy with a Weighting; nil without that option.
func weighted(s fedkit.Strategy, by strategy.Weighting) fedkit.Strategy {
	v := reflect.New(reflect.TypeOf(s).Elem())
	v.Elem().Set(reflect.ValueOf(s).Elem())
	f := v.Elem().FieldByName("Weighting")
	if !f.IsValid() {
		return nil
	}
	f.Set(reflect.ValueOf(&by).Elem())
	return v.Interface().(fedkit.Strategy)
}

func bySize(s fedkit.ClientResult) float64 { return 3 * float64(s.Examples) }

func alike(w float64) strategy.Weighting {
	return strategy.WeightingFunc(func(fedkit.ClientResult) float64 { return w })
}

// Every strategy with a weighted mean has the option. Its default is the one that its comment names, and a custom weighting is as
// good as a built-in one.
func TestWeightings(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	without := []string{
		"FedMedian", // a median has no weights
		"FedAsync",  // one result at a time
		"FedSplit",  // weights are in the objectives, and x is the plain mean of z
		"LocalOnly", // no mean
	}
	equally := []string{"SCAFFOLD", "CCFL", "FedBuff", "FedPRISM", "IFCA", "LCFL", "FeSEM", "FedAC", "AdaptiveClustering"} // by default
	same, different := quadratic(t, even...), quadratic(t, uneven...)
	moved := map[string]bool{}
	for name, s := range all() {
		kind, _, _ := strings.Cut(name, ",")
		if weighted(s, nil) == nil {
			expect.That(t, slices.Contains(without, kind), "%s has no Weighting", name)
			continue
		}
		outcome := func(fed *fedkit.Federation, by strategy.Weighting) []byte {
			s := weighted(s, by)
			b := expect.Value(fedtest.Outcome(s, run(t, on(fed, s), s, fedkit.Options{Rounds: 3, EvalEvery: 3, Seed: 5})))(t)
			return b
		}
		usual, equal, examples := outcome(different, nil), outcome(different, strategy.Equal{}), outcome(different, strategy.ByExamples{})
		custom := outcome(different, strategy.WeightingFunc(bySize))
		expect.That(t, bytes.Equal(custom, examples), "%s: a custom weighting by examples differs from ByExamples", name)
		if slices.Contains(equally, kind) {
			examples, equal = equal, examples
		}
		if moved[kind] = moved[kind] || !bytes.Equal(equal, examples); !bytes.Equal(usual, examples) {
			t.Errorf("%s: the default is another than documented", name)
		}
		expect.That(t, bytes.Equal(outcome(same, strategy.Equal{}), outcome(same, strategy.ByExamples{})),
			"%s: Equal and ByExamples differ on clients of one size", name)
		_, err := fedkit.Run(context.Background(), on(same, s), weighted(s, alike(math.NaN())), fedkit.Options{Rounds: 3})
		want := "invalid: Weighting of client "
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && strings.Contains(err.Error(), want),
			"%s: error %v, want one with %q", name, err, want)
	}
	for kind, m := range moved {
		expect.That(t, m || kind == "FedOpt", "%s: weights change nothing", kind) // there with a median
	}
}

func TestWeightsThatAreRefused(t *testing.T) {
	for want, w := range map[string]float64{
		"Weighting of client 0 = -1: must be a finite number ≥ 0":   -1,
		"Weighting of client 0 = +Inf: must be a finite number ≥ 0": math.Inf(1),
		"sum of Weighting = 0: must be a finite number > 0":         0,
		"sum of Weighting = +Inf: must be a finite number > 0":      math.MaxFloat64,
	} {
		_, err := fedkit.Run(context.Background(), quadratic(t, even...), &strategy.FedAvg{Local: standard, Weighting: alike(w)}, fedkit.Options{Rounds: 1})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && strings.HasSuffix(err.Error(), "invalid: "+want), "error %v, want %s", err, want)
	}
	first := strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return float64(1 - min(1, s.Client)) })
	_, err := fedkit.Run(context.Background(), quadratic(t, even...), &strategy.FedAC{K: 3, Fixed: true, Local: standard, Weighting: first}, fedkit.Options{Rounds: 1})
	expect.That(t, err != nil && strings.Contains(err.Error(), "invalid: sum of Weighting in cluster "), "error %v", err)
	s := &strategy.AdaptiveClustering{AsPublished: true, Weighting: strategy.Equal{}}
	if err := fedkit.Check(s, quadratic(t, even...), 6); err == nil || !strings.Contains(err.Error(), "Weighting = strategy.Equal: must be nil if AsPublished is set") {
		t.Errorf("error %v", err)
	}
}

// SCAFFOLD's c stays the weighted mean of all c_i, whoever takes part.
func TestWeightedControlVariates(t *testing.T) {
	s := &strategy.SCAFFOLD{Fraction: 0.5, Weighting: strategy.ByExamples{}, Local: standard}
	run(t, quadratic(t, uneven...), s, fedkit.Options{Rounds: 5})
	mean := make([]float64, 5)
	for i, ci := range host(t, s.State.Ci) {
		floats.AddScaled(mean, float64(uneven[i])/140, ci)
	}
	c := host(t, s.State.C)[0]
	expect.That(t, agree(c, mean), "c is %v, want %v", c, mean)
}

// An Aggregator gets the weights, those of a function too.
func TestAggregatorsGetTheWeights(t *testing.T) {
	p, got := []float64{1, 0, 3, 2, 0.5, 0.25}, []float64(nil)
	s := &strategy.FedAvg{Local: standard, Weighting: strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return p[s.Client] }),
		Aggregator: fedkit.AggregatorFunc(func(u *fedkit.Matrix, weights []float64) *fedkit.Matrix { got = weights; return u.Mean(weights) })}
	run(t, quadratic(t, uneven...), s, fedkit.Options{Rounds: 1, Seed: 5})
	expect.That(t, slices.Equal(got, p), "weights %v, want %v", got, p)
	other := &strategy.FedAvg{Local: standard, Weighting: s.Weighting}
	run(t, quadratic(t, uneven...), other, fedkit.Options{Rounds: 1, Seed: 5})
	sameRows(t, other.X, host(t, s.X), "x without an aggregator")
}
