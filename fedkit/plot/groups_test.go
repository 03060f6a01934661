package plot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/config"
)

// A strategy with options, as configurations have it.
type (
	FedAvg struct {
		Local    struct{ LR float64 }
		Selector any
	}
	Softmax struct {
		By   int
		Seed uint64
	}
)

// with returns a run of FedAvg with an option set, and scores that follow from seed and rate.
func with(seed uint64, lr float64) *fedkit.History {
	s := FedAvg{}
	s.Local.LR = lr
	h := seeded(seed, history("FedAvg", 0.5+lr+float64(seed)/100))
	h.Config, h.Data, h.Partition, h.Model = config.Of(s), "digits", "20 clients, IID", "MLP-64"
	return h
}

// changed returns with(1, 0.1) after a change.
func changed(change func(*fedkit.History)) *fedkit.History {
	h := with(1, 0.1)
	change(h)
	return h
}

// dealtBy returns a run on a federation that was dealt with a seed.
func dealtBy(seed uint64, words, clients string) *fedkit.History {
	return changed(func(h *fedkit.History) {
		h.Partition = words
		h.Manifest = &partition.Manifest{Rule: words, Config: config.Of(partition.Noise{Of: partition.IID{Clients: 20, Seed: seed}, Seed: seed}), Data: clients, Clients: clients}
		h.Seed = seed
	})
}

// selecting returns a run whose strategy has a part with a seed of its own.
func selecting(seed uint64, by int, partSeed uint64) *fedkit.History {
	return changed(func(h *fedkit.History) { h.Seed, h.Config = seed, config.Of(FedAvg{Selector: Softmax{by, partSeed}}) })
}

// old returns a run as old files have it.
func old(seed uint64, text string) *fedkit.History {
	return changed(func(h *fedkit.History) {
		h.Seed, h.Config = seed, new(config.Config)
		if err := json.Unmarshal([]byte(`"`+text+`"`), h.Config); err != nil {
			panic(err)
		}
	})
}

// Only seeds of one configuration merge, and names that collide say what differs.
func TestGroups(t *testing.T) {
	one := with(0, 0.1)
	for what, c := range map[string]struct {
		runs []*fedkit.History
		want []string
	}{
		"seeds":                        {[]*fedkit.History{one, with(1, 0.1), with(2, 0.1)}, []string{"FedAvg: 3"}},
		"learning rates":               {[]*fedkit.History{with(0, 0.001), one, with(1, 0.001)}, []string{"FedAvg, Local.LR 0.001: 2", "FedAvg, Local.LR 0.1: 1"}},
		"an option that is set in one": {[]*fedkit.History{with(0, 0), one}, []string{"FedAvg: 1", "FedAvg, Local {LR: 0.1}: 1"}},
		"parts": {[]*fedkit.History{selecting(0, 0, 0), selecting(0, 2, 0), one},
			[]string{"FedAvg, Selector plot.Softmax: 1", "FedAvg, Selector plot.Softmax{By: 2}: 1", "FedAvg, Local {LR: 0.1}: 1"}},
		"seeds of a part":     {[]*fedkit.History{selecting(0, 2, 1), selecting(1, 2, 2), selecting(1, 2, 3)}, []string{"FedAvg: 3"}},
		"strategies":          {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Config = config.Of(Softmax{}) })}, []string{"FedAvg, plot.FedAvg, Local {LR: 0.1}: 1", "FedAvg, plot.Softmax: 1"}},
		"data":                {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Data = "mnist" })}, []string{"FedAvg, digits: 1", "FedAvg, mnist: 1"}},
		"models":              {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Model = "MLP-32" })}, []string{"FedAvg, MLP-64: 1", "FedAvg, MLP-32: 1"}},
		"sizes":               {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Params = 7 })}, []string{"FedAvg, 0 parameters: 1", "FedAvg, 7 parameters: 1"}},
		"partitions":          {[]*fedkit.History{one, dealtBy(1, "20 clients, Dirichlet α = 0.1, seed 1", "a")}, []string{"FedAvg, 20 clients, IID: 1", "FedAvg, 20 clients, Dirichlet α = 0.1: 1"}},
		"seeds of partitions": {[]*fedkit.History{dealtBy(1, "noise, seed 1", "a"), dealtBy(2, "noise, seed 2", "b")}, []string{"FedAvg: 2"}},
		"rules, the same in words": {[]*fedkit.History{dealtBy(1, "noise", "a"), changed(func(h *fedkit.History) {
			h.Partition, h.Manifest = "noise", &partition.Manifest{Config: config.Of(partition.IID{Clients: 20}), Data: "a", Clients: "a"}
		})}, []string{"FedAvg, partition.Noise, Of partition.IID{Clients: 20, Seed: 1}: 1", "FedAvg, partition.IID, Clients 20: 1"}},
		"examples, the same in words": {[]*fedkit.History{dealtBy(1, "noise, seed 1", "a"), dealtBy(1, "noise, seed 1", "b")}, []string{"FedAvg (1): 1", "FedAvg (2): 1"}},
		"old files":                   {[]*fedkit.History{old(1, "LR: 1"), old(2, "LR: 1")}, []string{"FedAvg: 2"}},
		"old files that differ":       {[]*fedkit.History{old(1, "LR: 1"), old(1, "LR: 2")}, []string{"FedAvg (1): 1", "FedAvg (2): 1"}},
		"old and new files":           {[]*fedkit.History{old(1, "LR: 1"), one, with(0, 0.2)}, []string{"FedAvg: 1", "FedAvg, Local.LR 0.1: 1", "FedAvg, Local.LR 0.2: 1"}},
		"names given":                 {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Name, h.Data = "mine", "mnist" })}, []string{"FedAvg: 1", "mine: 1"}},
		"a run given again":           {[]*fedkit.History{one, one, with(0, 0.1), with(1, 0.1)}, []string{"FedAvg: 2"}},
		"other scores, all else the same": {[]*fedkit.History{one, changed(func(h *fedkit.History) { h.Seed, h.Rounds[0].Global.Accuracy = 0, 0.1 }), with(1, 0.1)},
			[]string{"FedAvg (1): 2", "FedAvg (2): 1"}},
	} {
		all, err := tracks(c.runs)
		if err != nil {
			t.Fatal(err)
		}
		got := each(groups(all), func(g *group) string { return fmt.Sprintf("%s: %d", g.name, len(g.runs)) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// Two rates were once "2 runs, 35.1 ± 49.4 %".
func TestRatesAreNotSeeds(t *testing.T) {
	a, b := with(0, 0.001), with(0, 0.1)
	for what, f := range map[string]*chart.Figure{"accuracy": Accuracy(a, b), "loss": Loss(a, b)} {
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		if len(f.Series) != 2 || f.Series[0].Name != "FedAvg, Local.LR 0.001" || f.Series[1].Name != "FedAvg, Local.LR 0.1" || f.Series[0].Lo != nil {
			t.Errorf("%s: %+v", what, f.Series)
		}
	}
	if s := Table(a, b).String(); strings.Contains(s, "±") || !strings.Contains(s, "FedAvg, Local.LR 0.1 ") {
		t.Errorf("table:\n%s", s)
	}
	s := func(h *fedkit.History) *fedkit.History { return scored(h, 0, []float64{0.5}, []int{1}) }
	if f := ClientAccuracy(s(a), s(b)); len(f.Y.Names) != 2 || f.Y.Names[1] != "FedAvg, Local.LR 0.001" {
		t.Errorf("clients: %q", f.Y.Names)
	}
}

// Of a run that is given again the longer one counts, and the note says that it counts once.
func TestRepeats(t *testing.T) {
	short, long := history("A", 0.1, 0.2), history("A", 0.1, 0.2, 0.3)
	f := Accuracy(short, long, seeded(1, history("A", 0.3, 0.4, 0.5)))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if s := f.Series[0]; !near(s.Y, []float64{0.2, 0.3, 0.4}) || f.Note != "line: mean of 2 runs; band: ± 1 standard deviation; A: seed 0 was given again and counts once" {
		t.Errorf("%v, %q", s.Y, f.Note)
	}
	if s := Table(long, short).String(); strings.Contains(s, "runs") || !strings.Contains(s, "counts once") {
		t.Errorf("table:\n%s", s)
	}
	if s := Table(history("A", 0.1), history("A", 0.2)).String(); !strings.Contains(s, "A (1)") || !strings.Contains(s, "nothing in words tells them apart") {
		t.Errorf("table:\n%s", s)
	}
}

// Functions without a name cannot be compared: their runs merge, but not without a word.
func TestClosures(t *testing.T) {
	run := func(seed uint64) *fedkit.History {
		return changed(func(h *fedkit.History) { h.Seed, h.Config = seed, config.Of(FedAvg{Selector: func() {}}) })
	}
	f := Accuracy(run(0), run(1))
	if len(f.Series) != 1 || !strings.Contains(f.Note, "FedAvg: runs may differ in Selector, a function without a name") {
		t.Errorf("%d curves, note %q", len(f.Series), f.Note)
	}
}
