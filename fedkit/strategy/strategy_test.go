package strategy_test

import (
	"context"
	"encoding/json"
	"flag"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// quadratic is fedtest's, for clients of the given sizes.
func quadratic(t testing.TB, sizes ...int) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedtest.Quadratic(sizes...))(t)
}

var uneven, even = []int{20, 31, 8, 24, 17, 40}, []int{16, 16, 16, 16, 16, 16}

// slowAndFast are devices whose epochs take some seconds on small clients.
var slowAndFast = sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Down: sim.Constant(1e3), Up: sim.Uniform{Low: 50, High: 500}, Seed: 1}

// on returns the federation that a strategy of the table runs on: with devices if it needs them.
func on(fed *fedkit.Federation, s fedkit.Strategy) *fedkit.Federation {
	if _, ok := s.(*strategy.FedEff); !ok {
		return fed
	}
	fed, err := fed.WithDevices(slowAndFast)
	if err != nil {
		panic(err)
	}
	return fed
}

func run(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	return expect.Value(fedkit.Run(context.Background(), fed, s, o))(t)
}

// each runs a strategy, and yields the record of every round.
func each(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) iter.Seq[*fedkit.Record] {
	return func(yield func(*fedkit.Record) bool) {
		for h, err := range fedkit.Rounds(context.Background(), fed, s, o) {
			if expect.OK(t, err); !yield(h.Last()) {
				return
			}
		}
	}
}

// Two groups of clients with different optima. Clustered algorithms separate them, and unseen clients find theirs; one global model
// cannot serve both.
func TestGroupsAreFound(t *testing.T) {
	expect.Long(t, "a curve")
	rng := rand.New(rand.NewPCG(3, 1))
	all := drawn(t, model.MLP(), 3, 10, slices.Repeat([]int{30}, 12), func(i int) (int, func() ([]float64, float64)) {
		return i % 2, func() (x []float64, y float64) {
			for k := range 3 {
				x = append(x, rng.NormFloat64())
				y += x[k] * float64((k+1)*(1-2*(i%2)))
			}
			return x, y
		}
	})
	fed := expect.Value(all.HoldOut(2, 1))(t)
	l := fedkit.Local{Epochs: 2, Batch: 10, LR: 0.05}
	o := fedkit.Options{Rounds: 25, Seed: 2}
	global := run(t, fed, &strategy.FedAvg{Local: l}, o).Last().Mean().Loss
	for name, s := range map[string]fedkit.Strategy{
		"IFCA":                  &strategy.IFCA{K: 2, Local: l},
		"one-shot":              &strategy.OneShot{Local: l},
		"CFL":                   &strategy.CFL{Eps1: 0.3, Eps2: 0.6, Local: l},
		"LCFL":                  &strategy.LCFL{Local: l},
		"Fed-PRISM":             &strategy.FedPRISM{K: 2, M: 1, Every: 1, Alpha: fedkit.Zero, Center: true, Local: l},
		"Fed-PRISM, covariance": &strategy.FedPRISM{K: 2, M: 1, Every: 1, Alpha: fedkit.Zero, Clusterer: cluster.Spectral{}, Updates: true, Local: l},
		"FedClust":              &strategy.FedClust{Local: l},
		"FedClust, once":        &strategy.FedClust{Once: true, Local: l},
		"FeSEM":                 &strategy.FeSEM{Local: l},
		"FedAC":                 &strategy.FedAC{Mu: 2, Fixed: true, Local: l},
	} {
		last := run(t, fed, s, o).Last()
		expect.That(t, last.Clustering.ARI == 1, "%s: clusters %v do not tell the groups apart", name, last.Clusters)
		expect.That(t, last.Mean().Loss < 0.05*global, "%s: loss %v; one global model has %v", name, last.Mean().Loss, global)
		got := last.MeanUnseen().Loss
		expect.That(t, got < 0.05*global, "%s: unseen clients have a loss of %v; one global model has %v", name, got, global)
	}
}

// A checkpoint has the whole configuration: every option and part, functions by name.
func TestCheckpointOfAnotherRunIsRefused(t *testing.T) {
	fed := quadratic(t, 8, 8)
	file := filepath.Join(t.TempDir(), "checkpoint")
	first := func() *strategy.FedAvg {
		return &strategy.FedAvg{Aggregator: aggregate.Mean{}, Selector: fedkit.SelectorFunc(every.Sorted), Local: standard}
	}
	run(t, fed, first(), fedkit.Options{Rounds: 2, Checkpoint: file})
	for want, change := range map[string]func(*strategy.FedAvg, *fedkit.Options){
		"belongs to another run: Seed: 1, was 0":                                                         func(_ *strategy.FedAvg, o *fedkit.Options) { o.Seed = 1 },
		"belongs to another run: Aggregator: aggregate.Median{}, was aggregate.Mean{}":                   func(s *strategy.FedAvg, _ *fedkit.Options) { s.Aggregator = aggregate.Median{} },
		"belongs to another run: Local.LR: 0.06, was 0.05":                                               func(s *strategy.FedAvg, _ *fedkit.Options) { s.Local.LR = 0.06 },
		"belongs to another run: Selector: fedkit.SelectorFunc(strategy_test.reversed), was fedkit.Sele": func(s *strategy.FedAvg, _ *fedkit.Options) { s.Selector = fedkit.SelectorFunc(reversed) },
		"invalid: Selector = a function without a name: must be one that is declared with func at": func(s *strategy.FedAvg, _ *fedkit.Options) {
			s.Selector = fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.AllClients()[:n] })
		},
	} {
		s, o := first(), fedkit.Options{Rounds: 4, Checkpoint: file}
		change(s, &o)
		expect.Error(t, want)(fedkit.Run(context.Background(), fed, s, o))
	}
	h := run(t, fed, first(), fedkit.Options{Rounds: 4, Checkpoint: file})
	expect.That(t, len(h.Rounds) == 4, "%d rounds, want 4", len(h.Rounds)) // equal, but built again
}

func reversed(r *fedkit.Round, n int) []int {
	all := r.AllClients()
	slices.Reverse(all)
	return all[:n]
}

var update = flag.Bool("update", false, "rewrite the golden curves")

// Accuracy and loss of strategies on digits, against the golden curves in testdata. The tolerance allows for
// different rounding on other processors.
func TestGoldenCurves(t *testing.T) {
	expect.Long(t, "curves")
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 10, Alpha: 0.5, Seed: 3}, model.MLP(32)))(t)
	type curve struct{ Loss, Accuracy []float64 }
	got := map[string]curve{}
	for name, s := range all() {
		if name == "FedSplit, exact" || name == "FedSplit, sketched" { // of linear models only
			continue
		}
		var c curve
		for _, r := range run(t, on(fed, s), s, fedkit.Options{Rounds: 6, Seed: 1}).Rounds {
			m := r.Mean()
			c.Loss = append(c.Loss, math.Round(1e4*float64(m.Loss))/1e4)
			c.Accuracy = append(c.Accuracy, math.Round(1e4*float64(m.Accuracy))/1e4)
		}
		got[name] = c
	}
	const file = "testdata/curves.json"
	if *update {
		b := expect.Value(json.MarshalIndent(got, "", "  "))(t)
		expect.OK(t, os.WriteFile(file, append(b, '\n'), 0o644))
	}
	b := expect.Value(os.ReadFile(file))(t)
	want := map[string]curve{}
	expect.OK(t, json.Unmarshal(b, &want))
	for name := range got {
		expect.That(t, len(want[name].Loss) > 0, "%s has no golden curve: run with -update", name)
	}
	for name, w := range want {
		c := got[name]
		if len(w.Loss) != len(c.Loss) {
			t.Errorf("%s: %d rounds, the golden curve has %d: run with -update if that is intended", name, len(c.Loss), len(w.Loss))
			continue
		}
		for i := range c.Loss {
			if math.Abs(c.Loss[i]-w.Loss[i]) > 2e-3*(1+w.Loss[i]) || math.Abs(c.Accuracy[i]-w.Accuracy[i]) > 0.012 {
				t.Errorf("%s, round %d: loss %v, accuracy %v; the golden curve has %v, %v", name, i+1, c.Loss[i], c.Accuracy[i], w.Loss[i], w.Accuracy[i])
			}
		}
	}
}

// The figures the notebook shows: digits in 30 rounds, and the rounds the 2NN needs on MNIST (arXiv 1602.05629,
// Table 1: 87 for C = 0.1, E = 1, B = 10 on IID data, at its best rate).
func TestFedAvgReachesTheFigures(t *testing.T) {
	expect.Long(t, "a curve")
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(64)))(t)
	s := &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
	if a := run(t, fed, s, fedkit.Options{Rounds: 30, EvalEvery: 30}).Accuracy(); a < 0.95 {
		t.Errorf("digits: accuracy %v, want at least 0.95", a)
	}

	data := os.Getenv("FEDKIT_DATA")
	if _, err := os.Stat(filepath.Join(data, "mnist")); data == "" || err != nil {
		t.Skip("MNIST: FEDKIT_DATA does not have it")
	}
	mnist := expect.Value((&datasets.Loader{Offline: true}).Make(t.Context(), "mnist"))(t)
	fed = expect.Value(fedkit.New(mnist, partition.IID{Clients: 100, Seed: 1}, model.MLP(200, 200)))(t)
	s = &strategy.FedAvg{Fraction: 0.1, Local: fedkit.Local{Batch: 10, LR: 0.1}}
	for h, err := range fedkit.Rounds(t.Context(), fed, s, fedkit.Options{Rounds: 60}) {
		expect.OK(t, err)
		if h.Accuracy() >= 0.97 {
			t.Logf("MNIST: 97%% after %d rounds", len(h.Rounds))
			return
		}
	}
	t.Error("MNIST: 97% was not reached in 60 rounds")
}
