package plot

import (
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
)

// FedAvg is a strategy with options, as in configurations.
type FedAvg struct {
	Local    struct{ LR float64 }
	Selector any
}

// with returns a run of FedAvg with an option set, and scores that follow from seed and rate.
func with(seed uint64, lr float64) *fedkit.History {
	s := FedAvg{}
	s.Local.LR = lr
	h := seeded(seed, historyOf("FedAvg", 0.5+lr+float64(seed)/100))
	h.Config, h.Data, h.Partition, h.Model = config.Of(s), "digits", "20 clients, IID", "MLP-64"
	return h
}

// Two rates were once "2 runs, 35.1 ± 49.4 %".
func TestRatesAreNotSeeds(t *testing.T) {
	a, b := with(0, 0.001), with(0, 0.1)
	for what, f := range map[string]*chart.Figure{"accuracy": Accuracy(a, b), "loss": Over(compare.Loss, a, b)} {
		expect.OK(t, f.Err())
		expect.That(t, len(f.Series) == 2 && f.Series[0].Name == "FedAvg, Local.LR 0.001" && f.Series[1].Name == "FedAvg, Local.LR 0.1" && f.Series[0].Lo == nil,
			"%s: %+v", what, f.Series)
	}
	s := func(h *fedkit.History) *fedkit.History { return scored(h, 0, []float64{0.5}, []int{1}) }
	if f := ClientAccuracy(s(a), s(b)); len(f.Y.Names) != 2 || f.Y.Names[1] != "FedAvg, Local.LR 0.001" {
		t.Errorf("clients: %q", f.Y.Names)
	}
}

// Of a repeated run the longer one counts, and the note says that it counts once.
func TestRepeats(t *testing.T) {
	short, long := historyOf("A", 0.1, 0.2), historyOf("A", 0.1, 0.2, 0.3)
	f := Accuracy(short, long, seeded(1, historyOf("A", 0.3, 0.4, 0.5)))
	expect.OK(t, f.Err())
	if s := f.Series[0]; !near(s.Y, []float64{0.2, 0.3, 0.4}) || f.Note != "line: mean of 2 runs; thin lines: single runs; A: seed 0 was given again and counts once" {
		t.Errorf("%v, %q", s.Y, f.Note)
	}
	if f := Accuracy(historyOf("A", 0.1), historyOf("A", 0.2)); len(f.Series) != 2 || f.Series[0].Name != "A (1)" || !strings.Contains(f.Note, "nothing in words tells them apart") {
		t.Errorf("%d curves, note %q", len(f.Series), f.Note)
	}
}

// Unnamed functions cannot be compared: their runs merge, with a remark.
func TestClosures(t *testing.T) {
	run := func(seed uint64) *fedkit.History {
		h := with(seed, 0.1)
		h.Config = config.Of(FedAvg{Selector: func() {}})
		return h
	}
	f := Accuracy(run(0), run(1))
	expect.That(t, len(f.Series) == 3 && strings.Contains(f.Note, "FedAvg: runs may differ in Selector, a function without a name"),
		"%d curves, note %q", len(f.Series), f.Note)
}
