package strategy_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

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
	for name, w := range want { // a new strategy gets its curve with -update
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
