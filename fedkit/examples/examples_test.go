package examples_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

var standard = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// The suite's problem is least squares: it has no classes for FedLC and Distill, and no Twin for APFL.
func TestSuite(t *testing.T) {
	for _, s := range []fedkit.Strategy{
		&examples.FedNova{Fraction: 0.5, Local: standard, Epochs: []int{1, 2, 3, 1, 2, 3}},
		&examples.FedDyn{Fraction: 0.5, Local: standard, Alpha: 1},
		&examples.Ditto{Fraction: 0.5, Local: standard},
		&examples.QFedAvg{Fraction: 0.5, Local: standard, Q: 0.5},
		&examples.CFL{Local: standard},
		&examples.Partial{Fraction: 0.5, Local: standard, Personal: []string{"dense1/biases"}},
		&examples.MOON{Fraction: 0.5, Local: standard},
	} {
		t.Run(fmt.Sprintf("%T", s), func(t *testing.T) {
			if err := (fedtest.Suite{Warm: 3}).Test(s); err != nil { // by then, a client with the most epochs has taken part
				t.Error(err)
			}
		})
	}
}

// Algorithms that must be the same, up to the rounding of float32, on tables whose clients disagree.
func TestIdentities(t *testing.T) {
	tables, err := datasets.GaussianMixture{Clients: 6, Groups: 2, Rows: 24, TestRows: 10, Features: 5, Permute: true}.Make()
	if err != nil {
		t.Fatal(err)
	}
	even, twins := deal(t, tables, partition.Natural{}, tiny), deal(t, tables, partition.Natural{}, examples.Twin(tiny))
	uneven := deal(t, tables, partition.Dirichlet{Clients: 6, Alpha: 1, MinTrain: 5}, tiny)
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	near := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1, Prox: 0.3}
	avg, alone := &strategy.FedAvg{Fraction: 0.5, Local: l}, &strategy.LocalOnly{Fraction: 0.5, Local: l}
	layers := []string{"dense1", "dense2"}
	for _, c := range []struct {
		name   string
		fed    *fedkit.Federation // of a
		a, b   fedkit.Strategy    // b runs on the same, without twins
		rounds int
	}{
		{"FedNova with equal steps = FedAvg", even, &examples.FedNova{Fraction: 0.5, Local: l}, avg, 4},
		{"FedDyn's first round = FedProx with a server step of 1 + |S|/M", even, &examples.FedDyn{Fraction: 0.5, Local: l, Alpha: 0.3},
			&strategy.FedOpt{Fraction: 0.5, Local: near, Server: server.SGD{LR: 1.5}}, 1},
		{"Ditto with λ = 0 = LocalOnly", uneven, &examples.Ditto{Fraction: 0.5, Local: l, Lambda: fedkit.Zero}, alone, 4},
		{"APFL with α = 0 = FedAvg", twins, &examples.APFL{Fraction: 0.5, Local: l, Alpha: fedkit.Zero}, avg, 4},
		{"APFL with α = 1 = LocalOnly", twins, &examples.APFL{Fraction: 0.5, Local: l, Alpha: 1}, alone, 4},
		{"q-FedAvg with q = 0 = FedAvg with equal weights", even, &examples.QFedAvg{Fraction: 0.5, Local: l}, avg, 4},
		{"CFL that never splits = FedAvg", uneven, &examples.CFL{Local: l, Eps1: fedkit.Zero}, &strategy.FedAvg{Local: l}, 4},
		{"Partial with nothing personal = FedAvg", uneven, &examples.Partial{Fraction: 0.5, Local: l}, avg, 4},
		{"Partial with everything personal = LocalOnly", uneven, &examples.Partial{Fraction: 0.5, Local: l, Personal: layers}, alone, 4},
		{"MOON with μ = 0 = FedAvg", uneven, &examples.MOON{Fraction: 0.5, Local: l, Mu: fedkit.Zero}, avg, 4},
		{"FedLC with τ = 0 = FedAvg", uneven, &examples.FedLC{Fraction: 0.5, Local: l, Tau: fedkit.Zero}, avg, 4},
		{"Distill with λ = 0 = FedAvg", uneven, &examples.Distill{Fraction: 0.5, Local: l, Weight: fedkit.Zero}, avg, 4},
	} {
		plain := c.fed
		if plain == twins {
			plain = even
		}
		a, b := run(t, c.fed, c.a, fedkit.Options{Rounds: c.rounds, Seed: 3}), run(t, plain, c.b, fedkit.Options{Rounds: c.rounds, Seed: 3})
		for i, s := range a.Last().Scores {
			if p, q := float64(s.Loss), float64(b.Last().Scores[i].Loss); !(math.Abs(p-q) <= 1e-5*q) {
				t.Errorf("%s: client %d has a loss of %v and %v", c.name, i, p, q)
			}
		}
	}
}

// Ditto's and APFL's global models are FedAvg's whatever λ and α.
func TestGlobalModelIsFedAvgs(t *testing.T) {
	digits := partition.Dirichlet{Clients: 5, Alpha: 0.5, Seed: 1}
	fed, twins := deal(t, datasets.Digits(), digits, tiny), deal(t, datasets.Digits(), digits, examples.Twin(tiny))
	o := fedkit.Options{Rounds: 3, EvalEvery: 3}
	want := run(t, fed, &strategy.FedAvg{Fraction: 0.6, Local: standard}, o)
	for name, got := range map[string]*fedkit.History{
		"Ditto": run(t, fed, &examples.Ditto{Fraction: 0.6, Local: standard}, o),
		"APFL":  run(t, twins, &examples.APFL{Fraction: 0.6, Local: standard}, o),
	} {
		if p, q := float64(got.Last().Global.Loss), float64(want.Last().Global.Loss); !(math.Abs(p-q) <= 1e-5*q) {
			t.Errorf("%s: the global model has a loss of %v, FedAvg's %v", name, p, q)
		}
		if got.Last().BytesUp != want.Last().BytesUp || got.Last().BytesDown != want.Last().BytesDown {
			t.Errorf("%s: %d bytes up and %d down, want FedAvg's", name, got.Last().BytesUp, got.Last().BytesDown)
		}
	}
}

// Where clients disagree and take many steps, FedAvg misses the minimum of their mean loss. FedDyn reaches it. So does FedNova
// if they only differ in their numbers of steps.
func TestOptimum(t *testing.T) {
	for _, c := range []struct {
		name   string
		l      fedkit.Local
		epochs []int
		s      func(fedkit.Local, []int) (fedkit.Strategy, func() *fedkit.Matrix)
		gain   float64
	}{
		{"FedDyn", fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.1}, nil, func(l fedkit.Local, _ []int) (fedkit.Strategy, func() *fedkit.Matrix) {
			s := &examples.FedDyn{Local: l, Alpha: 0.5}
			return s, func() *fedkit.Matrix { return s.State.X }
		}, 1e-5},
	} {
		d, best, err := datasets.LeastSquares{Clients: 5, Rows: 20, Features: 3, Heterogeneity: 1}.Make()
		if err != nil {
			t.Fatal(err)
		}
		fed := deal(t, d, partition.Natural{}, model.LinearRegression())
		avg := &strategy.FedAvg{Local: c.l}
		s, x := c.s(c.l, c.epochs)
		gap := func(s fedkit.Strategy, x func() *fedkit.Matrix) float64 {
			run(t, fed, s, fedkit.Options{Rounds: 150, EvalEvery: 150})
			w, err := x().Host()
			if err != nil {
				t.Fatal(err)
			}
			g, err := best.Gap(w)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		missed, left := gap(avg, func() *fedkit.Matrix { return avg.X }), gap(s, x)
		t.Logf("%s: %v, FedAvg %v", c.name, left, missed)
	}
}

func deal(t testing.TB, d *datasets.Dataset, rule partition.Rule, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	fed, err := fedkit.New(d, rule, m)
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

func run(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	h, err := fedkit.Run(t.Context(), fed, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Every algorithm stays short.
func TestLength(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		if len(lines) > 60 && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines, want at most 60", name, len(lines))
		}
	}
}
