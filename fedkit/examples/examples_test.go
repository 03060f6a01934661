package examples_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

var standard = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// fedtest's suite, for the examples that use most of fedkit's API.
func TestSuite(t *testing.T) {
	for _, s := range []fedkit.Strategy{
		&examples.FedNova{Fraction: 0.5, Local: standard, Epochs: []int{1, 2, 3, 1, 2, 3}},
		&examples.Ditto{Fraction: 0.5, Local: standard},
		&examples.PFedMe{Fraction: 0.5, Rounds: 2, Lambda: 1, Eta: 1, Local: standard},
		&examples.Partial{Fraction: 0.5, Local: standard, Personal: []string{"dense1/biases"}},
		&examples.MOON{Fraction: 0.5, Local: standard},
		&examples.FedEM{Fraction: 0.5, Local: standard, K: 2},
		&examples.FedLAMA{Fraction: 0.5, Local: standard},
		&examples.PACFL{Fraction: 0.5, K: 2, Local: standard},
		&examples.HierFAVG{Fraction: 0.5, Local: standard},
		&examples.DPSGD{Local: standard},
		&examples.DPFedAvg{Fraction: 0.5, Clip: 10, Noise: 1e-4, Local: standard},
		&examples.Sparse{Fraction: 0.5, Keep: 0.4, Local: standard},
		&examples.QSGD{Fraction: 0.5, Local: standard},
		&examples.PFedHN{Fraction: 0.5, Local: standard},
	} {
		if err := (fedtest.Suite{Warmup: 3}).Test(s); err != nil { // by then, a client with the most epochs has taken part
			t.Error(err)
		}
	}
}

// The suite on handwritten digits, for examples that need classes, a model of their own or one for images.
func TestSuiteOnDigits(t *testing.T) {
	expect.Long(t, "some hundred rounds for each")
	few := func(m fedkit.Model) *fedkit.Federation {
		return must.M1(fedkit.New(datasets.Digits(), partition.Take{Of: partition.Dirichlet{Clients: 4, Alpha: 1, Seed: 1}, Train: 24, Test: 10}, m))
	}
	l := fedkit.Local{Steps: 4, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		model fedkit.Model
		s     fedkit.Strategy
	}{
		{tiny, &examples.FedLC{Fraction: 0.5, Local: l}},
		{tiny, &examples.Distill{Fraction: 0.5, Local: l}},
		{examples.Twin(tiny), &examples.APFL{Fraction: 0.5, Local: l}},
		{model.CNN(), &examples.Partial{Fraction: 0.5, Local: fedkit.Local{Steps: 2, Batch: 4, LR: 0.1}, Personal: []string{"dense2"}}},
	} {
		if err := (fedtest.Suite{Fed: few(c.model)}).Test(c.s); err != nil {
			t.Error(err)
		}
	}
}

// rivals is a federation of two groups with permuted labels, for a plain model and for its twin. All
// clients have the same number of examples.
var rivals = sync.OnceValues(func() (plain, twin *fedkit.Federation) {
	d := must.M1(datasets.GaussianMixture{Clients: 6, Groups: 2, Rows: 24, TestRows: 10, Features: 5, Permute: true}.Make())
	return must.M1(fedkit.New(d, partition.Natural{}, tiny)), must.M1(fedkit.New(d, partition.Natural{}, examples.Twin(tiny)))
})

// Algorithms that must be the same, up to the rounding of float32.
func TestIdentities(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, twin := rivals()
	normalized := must.M1(fedkit.New(plain.Data, partition.Natural{}, model.BatchNormMLP(3)))
	l, near := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1, Prox: 0.3}
	helped := withServer(t, plain)
	avg, alone := &strategy.FedAvg{Fraction: 0.5, Local: l}, &strategy.LocalOnly{Fraction: 0.5, Local: l}
	for _, c := range []struct {
		name string
		fed  *fedkit.Federation
		a, b fedkit.Strategy
	}{
		{"FedNova with equal steps = FedAvg", plain, &examples.FedNova{Fraction: 0.5, Local: l}, avg},
		{"FedDyn's first round = FedProx with a server step of 1 + |S|/M", plain, &examples.FedDyn{Fraction: 0.5, Local: l, Alpha: 0.3},
			&strategy.FedOpt{Fraction: 0.5, Local: near, Server: server.SGD{LR: 1.5}}},
		{"Ditto with λ = 0 = LocalOnly", plain, &examples.Ditto{Fraction: 0.5, Local: l, Lambda: fedkit.Zero}, alone},
		{"APFL with α = 0 = FedAvg", twin, &examples.APFL{Fraction: 0.5, Local: l, Alpha: fedkit.Zero}, avg},
		{"APFL with α = 1 = LocalOnly", twin, &examples.APFL{Fraction: 0.5, Local: l, Alpha: 1}, alone},
		{"q-FedAvg with q = 0 = FedAvg with equal weights", plain, &examples.QFedAvg{Fraction: 0.5, Local: l}, avg},
		{"Partial with nothing personal = FedAvg", plain, &examples.Partial{Fraction: 0.5, Local: l}, avg},
		{"Partial with everything personal = LocalOnly", plain, &examples.Partial{Fraction: 0.5, Local: l, Personal: []string{"dense1", "dense2"}}, alone},
		{"FedBN without personal layers = FedAvg", normalized, &examples.Partial{Fraction: 0.5, Local: l}, avg},
		{"FedBN with everything personal = LocalOnly", normalized, &examples.Partial{Fraction: 0.5, Local: l, Personal: []string{"dense1", "bn1", "dense2"}}, alone},
		{"MOON with μ = 0 = FedAvg", plain, &examples.MOON{Fraction: 0.5, Local: l, Mu: fedkit.Zero}, avg},
		{"FedLAMA with φ = 1 = FedAvg", plain, &examples.FedLAMA{Fraction: 0.5, Local: l, Phi: 1}, avg},
		{"PACFL with K = 1 = FedAvg", plain, &examples.PACFL{Fraction: 0.5, Local: l, K: 1}, avg},
		{"PACFL with K = M = LocalOnly", plain, &examples.PACFL{Fraction: 0.5, Local: l, K: 6}, alone},
		{"FedLC with τ = 0 = FedAvg", plain, &examples.FedLC{Fraction: 0.5, Local: l, Tau: fedkit.Zero}, avg},
		{"FedEM with K = 1 = FedAvg", plain, &examples.FedEM{Fraction: 0.5, Local: l, K: 1}, avg},
		{"FedProto with λ = 0 = LocalOnly", plain, &examples.FedProto{Fraction: 0.5, Local: l, Lambda: fedkit.Zero}, alone},
		{"FedDF with one client per round = FedAvg", helped, &examples.FedDF{Fraction: 0.1, Local: l, Distill: l}, &strategy.FedAvg{Fraction: 0.1, Local: l}},
		{"DP-FedAvg without sampling, clipping and noise = FedAvg", plain, &examples.DPFedAvg{Local: l, Clip: 1e3, Noise: fedkit.Zero}, &strategy.FedAvg{Local: l}},
		{"Sparse with k = d = FedAvg", plain, &examples.Sparse{Fraction: 0.5, Local: l, Keep: 1}, avg},
		{"Distill with λ = 0 = FedAvg", plain, &examples.Distill{Fraction: 0.5, Local: l, Weight: fedkit.Zero}, avg},
	} {
		o := fedkit.Options{Rounds: 4, Seed: 3}
		if strings.Contains(c.name, "first round") {
			o.Rounds = 1
		}
		single := c.fed
		if single == twin {
			single = plain
		}
		a, b := run(t, c.fed, c.a, o).Last(), run(t, single, c.b, o).Last()
		for i, s := range a.Scores {
			if got, want := float64(s.Loss), float64(b.Scores[i].Loss); !(math.Abs(got-want) <= 1e-5*want) {
				t.Errorf("%s: client %d has a loss of %v, want %v", c.name, i, got, want)
			}
		}
		if _, private := c.b.(*strategy.LocalOnly); !private && (a.BytesUp != b.BytesUp || a.BytesDown != b.BytesDown) {
			t.Errorf("%s: %d bytes down and %d up, want %d and %d", c.name, a.BytesDown, a.BytesUp, b.BytesDown, b.BytesUp)
		}
	}
}

// Models with running values are refused where new models are no averages of the clients'.
func TestRunningValues(t *testing.T) {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 3}, model.BatchNormMLP(3)))
	for name, s := range map[string]fedkit.Strategy{"FedDyn": &examples.FedDyn{}, "FedNova": &examples.FedNova{}, "QFedAvg": &examples.QFedAvg{},
		"DPFedAvg": &examples.DPFedAvg{}, "QSGD": &examples.QSGD{}, "Sparse": &examples.Sparse{}, "PFedMe with β or ηλ > 1": &examples.PFedMe{Beta: 2}} {
		expect.Invalid(t, "strategy = "+name, "since bn1/mean of BN-MLP-3 is a running value")(fedkit.Describe(fed, s, fedkit.Options{Rounds: 1}))
	}
}

// The global models of Ditto and APFL are FedAvg's, whatever λ and α, with its traffic. So is that of pFedMe with R = 1 and ηλ = 1.
func TestGlobalModelIsFedAvgs(t *testing.T) {
	plain, twin := rivals()
	o := fedkit.Options{Rounds: 4, Seed: 3}
	near := standard
	near.Prox = 0.3
	avg, prox := run(t, plain, &strategy.FedAvg{Fraction: 0.5, Local: standard}, o).Last(), run(t, plain, &strategy.FedAvg{Fraction: 0.5, Local: near}, o).Last()
	for name, got := range map[string]*fedkit.Record{
		"Ditto":  run(t, plain, &examples.Ditto{Fraction: 0.5, Local: standard}, o).Last(),
		"APFL":   run(t, twin, &examples.APFL{Fraction: 0.5, Local: standard}, o).Last(),
		"pFedMe": run(t, plain, &examples.PFedMe{Fraction: 0.5, Local: standard, Rounds: 1, Lambda: 0.3, Eta: 1 / 0.3}, o).Last(),
	} {
		want := avg
		if name == "pFedMe" {
			want = prox
		}
		if p, q := float64(got.Global.Loss), float64(want.Global.Loss); !(math.Abs(p-q) <= 1e-5*q) {
			t.Errorf("%s: the global model has a loss of %v, FedAvg's %v", name, p, q)
		}
		if got.BytesUp != want.BytesUp || got.BytesDown != want.BytesDown {
			t.Errorf("%s: %d bytes down and %d up, want FedAvg's %d and %d", name, got.BytesDown, got.BytesUp, want.BytesDown, want.BytesUp)
		}
	}
}

// With heterogeneous clients and many local steps, FedAvg misses the minimum of their mean loss. FedDyn reaches it.
func TestFedDynReachesTheOptimum(t *testing.T) {
	d, best := expect.Values(datasets.LeastSquares{Clients: 5, Rows: 20, Features: 3, Heterogeneity: 1}.Make())(t)
	fed := must.M1(fedkit.New(d, partition.Natural{}, model.LinearRegression()))
	l := fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.1}
	avg, dyn := &strategy.FedAvg{Local: l}, &examples.FedDyn{Local: l, Alpha: 0.5}
	run(t, fed, avg, fedkit.Options{Rounds: 100, EvalEvery: 100})
	run(t, fed, dyn, fedkit.Options{Rounds: 100, EvalEvery: 100})
	missed, left := must.M1(best.Gap(must.M1(avg.X.Host()))), must.M1(best.Gap(must.M1(dyn.State.X.Host())))
	if missed < 1e-3 || left > 1e-9 {
		t.Errorf("FedDyn ends %v above the optimum, FedAvg %v", left, missed)
	}
}

// withServer gives the server some of the clients' rows.
func withServer(t testing.TB, fed *fedkit.Federation) *fedkit.Federation {
	t.Helper()
	return expect.Value(fed.WithServer(fedkit.Server{Draw: 30, Seed: 2}))(t)
}

func run(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	return expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
}

// Unseen clients get personal models without changing a run, for any number of workers.
func TestUnseenClients(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, twin := rivals()
	helped := must.M1(withServer(t, plain).HoldOut(2, 1))
	plain, twin = must.M1(plain.HoldOut(2, 1)), must.M1(twin.HoldOut(2, 1))
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.2}
	for _, c := range []struct {
		fed *fedkit.Federation
		s   fedkit.Strategy
	}{{plain, &examples.Ditto{Local: l}}, {plain, &examples.PFedMe{Rounds: 2, Lambda: 1, Local: l}}, {plain, &examples.Partial{Local: l, Personal: []string{"dense2"}}}, {plain, &examples.FedEM{Local: l, K: 2}}, {plain, &examples.FedProto{Local: l, Layer: "dense1"}}, {helped, &examples.FedDF{Local: l, Distill: l}}, {twin, &examples.APFL{Local: l}}} {
		alone := *c.fed
		alone.Unseen = nil
		var unseen [2]fedkit.Float
		var rounds [3][]byte
		for i, fed := range []*fedkit.Federation{c.fed, c.fed, &alone} {
			h := run(t, fed, c.s, fedkit.Options{Rounds: 4, EvalEvery: 2, Concurrency: 1 + 3*i})
			if i < 2 {
				unseen[i] = h.Last().MeanUnseen().Loss
			}
			for i := range h.Rounds {
				h.Rounds[i].Seconds, h.Rounds[i].EvalTime, h.Rounds[i].Unseen = 0, 0, nil
			}
			rounds[i] = must.M1(json.Marshal(h.Rounds))
		}
		if unseen[0] != unseen[1] || !bytes.Equal(rounds[0], rounds[1]) || !bytes.Equal(rounds[0], rounds[2]) {
			t.Errorf("%T: other bytes with 4 workers, or without unseen clients", c.s)
		}
	}
}

// What fedtest's suite tests on a problem without classes, for algorithms that need them.
func TestResume(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, _ := rivals()
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, c := range []struct {
		fed *fedkit.Federation
		s   func() fedkit.Strategy
	}{
		{plain, func() fedkit.Strategy { return &examples.FedProto{Fraction: 0.5, Local: l} }},
		{withServer(t, plain), func() fedkit.Strategy { return &examples.FedDF{Fraction: 0.5, Local: l, Distill: l} }},
	} {
		fed := must.M1(c.fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 1e-3, Sigma: 1}, Seed: 3}))
		whole, o := c.s(), fedkit.Options{Rounds: 5}
		first := int64(0)
		var h *fedkit.History
		for now, err := range fedkit.Rounds(t.Context(), fed, whole, o) {
			expect.OK(t, err)
			if h = now; len(h.Rounds) == 1 {
				first = xla.Compilations()
			}
		}
		if n := xla.Compilations() - first; n != 0 {
			t.Errorf("%T: %d programs were compiled after the first round, want 0", whole, n)
		}
		o.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
		for now, err := range fedkit.Rounds(t.Context(), fed, c.s(), o) {
			expect.OK(t, err)
			if len(now.Rounds) == 2 {
				break
			}
		}
		rest := c.s()
		if a, b := must.M1(fedtest.Outcome(whole, h)), must.M1(fedtest.Outcome(rest, run(t, fed, rest, o))); !bytes.Equal(a, b) {
			t.Errorf("%T: a resumed run ends with different bytes", whole)
		}
	}
}

// A Weighting replaces n_i or 1, whichever is the default. FedDyn's h stays the weighted mean of all h_i.
func TestWeighting(t *testing.T) {
	expect.Long(t, "arithmetic")
	plain, twin := rivals()
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	for name, c := range map[string]struct {
		with      func(strategy.Weighting) fedkit.Strategy
		byDefault strategy.Weighting
	}{
		"APFL":   {func(by strategy.Weighting) fedkit.Strategy { return &examples.APFL{Local: l, Weighting: by} }, strategy.ByExamples{}},
		"Ditto":  {func(by strategy.Weighting) fedkit.Strategy { return &examples.Ditto{Local: l, Weighting: by} }, strategy.ByExamples{}},
		"FedDyn": {func(by strategy.Weighting) fedkit.Strategy { return &examples.FedDyn{Local: l, Weighting: by} }, strategy.Equal{}},
		"pFedMe": {func(by strategy.Weighting) fedkit.Strategy {
			return &examples.PFedMe{Rounds: 2, Local: l, Weighting: by}
		}, strategy.Equal{}},
		"QFedAvg": {func(by strategy.Weighting) fedkit.Strategy { return &examples.QFedAvg{Q: 0.5, Local: l, Weighting: by} }, strategy.Equal{}},
	} {
		fed, uneven := plain, must.M1(fedtest.Quadratic())
		if name == "APFL" {
			fed, uneven = twin, must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 5, Alpha: 0.5, Seed: 1}, examples.Twin(tiny)))
		}
		outcome := func(fed *fedkit.Federation, by strategy.Weighting) string {
			s := c.with(by)
			return string(must.M1(fedtest.Outcome(s, must.M1(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2})))))
		}
		equal, examples := outcome(uneven, strategy.Equal{}), outcome(uneven, strategy.ByExamples{})
		if usual := outcome(uneven, nil); equal == examples || usual != outcome(uneven, c.byDefault) {
			t.Errorf("%s: the weights change nothing, or the default is another than documented", name)
		}
		if outcome(fed, strategy.Equal{}) != outcome(fed, strategy.ByExamples{}) {
			t.Errorf("%s: Equal and ByExamples differ on clients of one size", name)
		}
	}
	s := &examples.FedDyn{Fraction: 0.5, Local: l, Weighting: strategy.ByExamples{}}
	must.M1(fedkit.Run(t.Context(), must.M1(fedtest.Quadratic()), s, fedkit.Options{Rounds: 5}))
	if far := must.M1(s.State.Hi.Mean([]float64{20, 31, 8, 24, 17, 40}).Sub(s.State.H).Norms())[0]; far > 1e-6 {
		t.Errorf("h is %v from the mean of h_i", far)
	}
}

// Every algorithm stays short.
func TestLength(t *testing.T) {
	files := expect.Value(filepath.Glob("*.go"))(t)
	for _, name := range files {
		b := expect.Value(os.ReadFile(name))(t)
		lines := slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		if len(lines) > 60 && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines, want at most 60", name, len(lines))
		}
	}
}
