package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

func TestTable(t *testing.T) {
	a := scored(ran("<FedAvg>", 0.2, 0.8, 0.6), 2, []float64{0.1, 0.2, 0.9}, []int{1, 1, 2})
	tab := Table(a, ran("B", 0.5), seeded(1, ran("B", 0.7)))
	expect.OK(t, tab.Err())
	want := [][]string{
		{"", "n", "rounds", "accuracy", "best", "clients", "worst 10 %", "loss", "down", "up", "time"},
		{"<FedAvg>", "1", "3", "60.0 %", "80.0 %", "40.0 %", "10.0 %", "0.400", "6 kB", "3 kB", "1.50 s"},
		{"B", "2", "1", "60.0 ± 127.1 %", "60.0 ± 127.1 %", "–", "–", "0.400 ± 1.271", "2 kB", "1 kB", "0.50 s"},
	}
	for i := range want {
		if !slices.Equal(tab.Lines[i], want[i]) {
			t.Errorf("line %d:\n%q, want\n%q", i, tab.Lines[i], want[i])
		}
	}
	if lines := strings.Split(Table(a).String(), "\n"); len(lines) != 4 || !strings.Contains(lines[2], "global model") {
		t.Errorf("one run:\n%s", Table(a))
	}
}

// A mean over the runs that did not diverge says how many these are.
func TestDivergedRuns(t *testing.T) {
	h := []*history.History{ran("A", 0.5), seeded(1, ran("A", 0.7)), seeded(2, ran("A", 0.1)), ran("B", 0.1)}
	h[2].Rounds[0].Global.Loss, h[3].Rounds[0].Global.Loss = history.Float(nan), history.Float(nan)
	tab := Table(h...)
	if got := append(cells(t, tab, "A", "loss"), cells(t, tab, "B", "loss")...); !slices.Equal(got, []string{"0.400 ± 1.271 (2/3)", "–"}) {
		t.Errorf("%q", got)
	}
	if csv := strings.Split(tab.CSV(), "\n"); !strings.Contains(csv[0], ",loss,loss ±,loss n,down,") || !strings.Contains(csv[1], ",2,") || strings.Contains(csv[0], "accuracy n") {
		t.Errorf("%q", csv)
	}
	if says := "in brackets: how many of all runs have a finite value"; !strings.Contains(tab.Note, says) || strings.Contains(Table(h[:2]...).Note, says) {
		t.Error(tab.Note)
	}
}

// Numbers that round to 0 have no sign.
func TestNoNegativeZero(t *testing.T) {
	for got, want := range map[string]string{
		written(Accuracy, true, []float64{-0.0002, 0.0001})[0]: "0.0 ± 0.2 points", ARI.write(-0.001): "0.00", ARI.write(-0.12): "−0.12",
		Loss.write(-1e-5): "0.000", Quantity{}.write(math.Copysign(0, -1)): "0", Accuracy.write(-0.0001): "0.0 %",
		unitNumber("points").signed(0.0001, 0.02): "0.0 ± 2.0 points", unitNumber("points").signed(0.01, nan): "+1.0 points",
		written(Accuracy, true, []float64{-0.002, 0.001})[0]: "−0.1 ± 1.9 points", written(Time, true, []float64{-300, -340})[0]: "−5.3 ± 4.2 min",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// written returns the cells of a column, one for each group of values.
func written(q Quantity, signed bool, groups ...[]float64) []string {
	of := each(groups, interval)
	q.fill(of, signed)
	return each(of, func(c cell) string { return c.text })
}

// A column has one unit and one number of decimals, unless its numbers are too far apart for that. An interval does not repeat the unit.
func TestColumnsHaveOneScale(t *testing.T) {
	count, plain := Quantity{Unit: "1"}, Quantity{}
	own := Quantity{Format: func(v float64) string { return fmt.Sprintf("%.1f dB", v) }}
	for want, got := range map[string][]string{
		"3.37 ± 0.42 min":                written(Time, false, []float64{200, 204}),
		"3.5 ± 1.6 min":                  written(Time, false, []float64{200, 215}),
		"1.0001 ± 0.0006 MB":             written(Up, false, []float64{1_000_000, 1_000_100}),
		"9.00, 8.40":                     written(count, false, []float64{9}, []float64{8.4}),
		"9.0, 8.4 ± 4.0":                 written(count, false, []float64{9}, []float64{6.8, 8.4, 10}),
		"100, 9":                         written(count, false, []float64{100}, []float64{9}),
		"123.0, 8.4, –":                  written(count, false, []float64{123}, []float64{8.4}, nil),
		"6.5 ± 1.6 min, 0.5 min":         written(Time, false, []float64{389, 389 - 76.7, 389 + 76.7, 389 - 76.7, 389 + 76.7}, []float64{30}),
		"2.08 d, 0.200 ms":               written(Time, false, []float64{50 * 3600}, []float64{2e-4}),
		"1.50 GB, 0.20 GB, 0.00 GB":      written(Down, false, []float64{1.5e9}, []float64{2e8}, []float64{0}),
		"1.50 GB, 2 kB":                  written(Down, false, []float64{1.5e9}, []float64{2000}),
		"1.50 GB, 7.90 MB":               written(Down, false, []float64{1.5e9}, []float64{7.9e6}),
		"15.2 ms, 0.823 s":               written(Time, false, []float64{0.0152}, []float64{0.8225}),
		"1.5×10⁻⁶, −0.2×10⁻⁶":            written(plain, false, []float64{1.5e-6}, []float64{-2e-7}),
		"1.0×10⁻⁶ ± 1.3×10⁻⁶":            written(plain, false, []float64{0.9e-6, 1.1e-6}),
		"2×10⁷, 0.5":                     written(plain, false, []float64{2e7}, []float64{0.5}),
		"0.25, 1.00":                     written(plain, false, []float64{0.25}, []float64{1}),
		"5.00 ± 0.00":                    written(count, false, []float64{5, 5.0001, 4.9999}),
		"60.0 ± 0.0 %, −0.1 %, 0.0 %":    written(Accuracy, false, []float64{0.6, 0.600001}, []float64{-0.001}, []float64{-0.0001}),
		"0.400, 0.000, −1.500":           written(Loss, false, []float64{0.4}, []float64{-1e-5}, []float64{-1.5}),
		"−0.5 ± 1.3 dB, 0.0 dB, +2.0 dB": written(own, true, []float64{-0.4, -0.6}, []float64{-0.01}, []float64{2}),
		"+1.00 kB, −0.50 kB, 0.00 kB":    written(Down, true, []float64{1000}, []float64{-500}, []float64{0}),
	} {
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Notes are about columns that are there.
func TestNotesOfColumns(t *testing.T) {
	h := []*history.History{ran("A", 0.5), seeded(1, ran("A", 0.7))}
	for want, columns := range map[string][]string{
		"±: 95 % confidence interval of the mean; accuracy: of the global model, on test rows":      {"accuracy"},
		"±: 95 % confidence interval of the mean; best and loss: of the global model, on test rows": {"best", "loss"},
		"": {"rounds"},
	} {
		if got := (Comparison{Columns: columns}).Table(h...).Note; got != want {
			t.Errorf("%v: %q, want %q", columns, got, want)
		}
	}
}

// No history makes a table panic, and names are escaped.
func FuzzTable(f *testing.F) {
	f.Add(0.5, 0.1, 3, 1)
	f.Add(nan, math.Inf(-1), 0, -1)
	f.Fuzz(func(t *testing.T, a, l float64, n, k int) {
		s := history.Score{Accuracy: history.Float(a), Loss: history.Float(l), Examples: n}
		h := &history.History{Name: "<b>", Rounds: []history.Record{
			{Round: n, Global: &s, Scores: []history.Score{s, {}}}, {Round: k, Scores: []history.Score{s}, Seconds: l},
		}}
		other := *h
		other.Seed, other.Name = 1, "c"
		again := *h
		again.Seed, again.Name = 2, "c"
		tab := Comparison{Target: 0.5, Baseline: "c"}.Table(h, &other, &again)
		if err := tab.Err(); err != nil && strings.Contains(err.Error(), "could not be drawn") || strings.Contains(tab.HTML(), "<b>") {
			t.Errorf("%v\n%s", err, tab.HTML())
		}
	})
}

func TestPersonalTable(t *testing.T) {
	tab := Table(personal("FedPRISM"), ordinary("FedAvg"))
	expect.OK(t, tab.Err())
	for i, want := range [][]string{
		{"", "rounds", "global", "clients' own", "best", "clients"},
		{"FedPRISM", "2", "60.0 %", "85.0 %", "60.0 %", "85.0 %"},
		{"FedAvg", "2", "50.0 %", "50.0 %", "50.0 %", "50.0 %"},
	} {
		if got := tab.Lines[i]; !slices.Equal(got[:len(want)], want) {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	want := "global: accuracy of the global model, on test rows; clients' own: accuracy of the clients' models (mean), on test rows; best and loss: of the global model, on test rows"
	if tab.Note != want {
		t.Errorf("note %q, want %q", tab.Note, want)
	}
}

// Columns about clusters and unseen clients are shown if a run has them.
func TestColumnsOfClusters(t *testing.T) {
	a, b := ran("A", 0.5, 0.6), ran("B", 0.5, 0.6)
	first, last := &a.Rounds[0], &a.Rounds[1]
	first.Unseen, first.ChosenOnTest = []history.Score{{Accuracy: 0.5, Examples: 1}, {Accuracy: 0.8, Examples: 2}}, []history.Score{{Accuracy: 0.9, Examples: 4}}
	last.Clustering = &history.Clustering{Count: 3, ARI: 0.25, NMI: history.Float(nan)}
	got := cells(t, Table(a, b), "A", "unseen", "chosen on test", "clusters", "ARI")
	if want := []string{"70.0 %", "90.0 %", "3", "0.25"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := cells(t, Table(a, b), "B", "ARI"); got[0] != "–" {
		t.Errorf("%q", got)
	}
	if v := ARI.Of(a, b); v[0] != 0.25 || v[1] == v[1] {
		t.Errorf("ARI %v", v)
	}
}

// A column may be requested if no run has it: programs write the same table for any runs.
func TestRareColumns(t *testing.T) {
	h := ran("A", 0.5, 0.6)
	heads := []string{"n", "accuracy", "global", "clients' own", "unseen", "chosen on test", "clusters", "ARI", "simulated", "idle", "wasted", "staleness", "simulated to 90 %"}
	tab := Comparison{Target: 0.9, Columns: heads}.Table(h)
	if got, want := cells(t, tab, "A", heads...), slices.Concat([]string{"1", "60.0 %", "60.0 %"}, slices.Repeat([]string{"–"}, 10)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if says := "global: accuracy of the global model"; !strings.Contains(tab.Note, says) {
		t.Error(tab.Note)
	}
	if got := cells(t, Comparison{Columns: []string{"accuracy"}}.Table(personal("P")), "P", "accuracy"); got[0] != "60.0 %" {
		t.Errorf("%q", got)
	}
	for _, head := range Table(h).Lines[0] {
		if slices.Contains(heads[2:], head) {
			t.Errorf("%q is there though nobody asked", head)
		}
	}
}

// Metrics are columns on request, on the basis of all runs, and quantities.
func TestMetricColumns(t *testing.T) {
	a, b := personal("A"), ordinary("B")
	a.Rounds[1].Global.Metrics = map[string]history.Float{"macro F1": 0.25}
	a.Rounds[1].Scores[0].Metrics = map[string]history.Float{"macro F1": 0.75}
	tab := Comparison{Columns: []string{"macro F1"}}.Table(a, b)
	if got := append(cells(t, tab, "A", "macro F1"), cells(t, tab, "B", "macro F1")...); !slices.Equal(got, []string{"0.250", "–"}) {
		t.Errorf("%q", got)
	}
	own := Metric("macro F1").On(OwnModels)
	if got := own.Of(a, b); got[0] != 0.75 || got[1] == got[1] || own.Name != "macro F1, clients' own" {
		t.Errorf("%s: %v", own.Name, got)
	}
	if err := (Comparison{Columns: []string{"micro F1"}}).Table(a).Err(); err == nil || strings.Contains(Table(a).String(), "macro F1") {
		t.Errorf("%v", err)
	}
}

// store returns n light histories of 30 rounds, with 5 seeds of each configuration.
func store(n int) (all []*history.History) {
	for i := range n {
		s := FedAvg{Selector: Softmax{By: i / 100, Seed: uint64(i % 5)}}
		s.Local.LR = float64(1 + i/5)
		h := &history.History{Name: "FedAvg", Config: config.Of(s), Data: "digits", Seed: uint64(i % 5), Clients: 20, Params: 1000,
			Partition: fmt.Sprintf("20 clients, Dirichlet α = 0.1, seed %d", i%5),
			Manifest:  &partition.Manifest{Config: config.Of(partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: uint64(i % 5)}), Data: "d", Clients: fmt.Sprint(i % 5)}}
		for r := range 30 {
			h.Rounds = append(h.Rounds, history.Record{Round: r + 1, Seconds: 0.1, BytesUp: 1000, BytesDown: 1000,
				Global: &history.Score{Accuracy: history.Float(0.5 + float64(r*i%17)/100), Loss: 1, Examples: 1000}})
		}
		all = append(all, h)
	}
	return all
}

// A table over 10,000 runs should take less than 2 s.
func BenchmarkTable(b *testing.B) {
	all := store(10_000)
	for b.Loop() {
		t := Comparison{Target: 0.6, Baseline: "FedAvg, Local.LR 1"}.Table(all...)
		if len(t.Lines) != 2001 {
			b.Fatal(len(t.Lines), t.Err())
		}
	}
}

// on gives the evaluated rounds these accuracies of the global model on validation rows.
func on(h *history.History, accuracy ...float64) *history.History {
	for i, a := range accuracy {
		h.Rounds[i].Validation = &history.Validation{Global: &history.Score{Accuracy: history.Float(a), Examples: 5}}
	}
	return h
}

// The best round is chosen on validation rows, and its accuracy is that on test rows. Without them, it is the highest on test rows.
func TestBestOnValidation(t *testing.T) {
	tested := []float64{0.2, 0.7, 0.6, nan}
	with, without := on(ran("with", tested...), 0.1, 0.3, 0.5), ran("without", tested...)
	if got := Best.Of(with, without); !slices.Equal(got, []float64{0.6, 0.7}) {
		t.Errorf("best %v, want 0.6 and 0.7", got)
	}
	if got := Accuracy.OnValidation().Of(with, without); got[0] != 0.5 || got[1] == got[1] {
		t.Errorf("on validation rows %v, want 0.5 and NaN", got)
	}
	if got := LastRounds(3, Accuracy.OnValidation()).Of(with); !close(got[0], 0.3) {
		t.Errorf("mean of the last rounds on validation rows: %v, want 0.3", got)
	}
	partly := on(ran("partly", tested...), 0.5, 0.3) // round 3 has none
	if got := Best.Of(partly); got[0] != 0.7 {
		t.Errorf("best %v, want that on test rows, 0.7", got)
	}
	if _, _, err := Loss.OnValidation().Follow(with, without); err == nil || !strings.Contains(err.Error(), `history "without" has no scores on validation rows: its clients have none (see partition.Validation)`) {
		t.Errorf("error %v", err)
	}
	if note := Table(with.OnValidation()).Note; !strings.HasSuffix(note, "accuracy, best and loss: of the global model, on validation rows") {
		t.Errorf("note %q of scores on validation rows", note)
	}
	if note := Table(with, with.OnValidation()).Note; with.Scored() != "test" || !strings.Contains(note, "accuracy, best and loss: of the global model, on test and validation rows") {
		t.Errorf("note %q of scores on both", note)
	}
	for want, h := range map[string][]*history.History{
		"; best: in the round that is best on validation rows":                                                   {with},
		"; best: in the round that is best on validation rows, for 1 of 2 runs, and on test rows for the others": {with, without},
		"accuracy, best and loss: of the global model, on test rows":                                             {without},
	} {
		if note := Table(h...).Note; !strings.HasSuffix(note, want) {
			t.Errorf("note %q, want %q", note, want)
		}
	}
}
