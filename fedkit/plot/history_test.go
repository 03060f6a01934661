package plot

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// Mean and band by hand, without round 2, which one run does not have. Fewer than five runs are thin lines, with all their rounds.
func TestBandOverSeeds(t *testing.T) {
	var h []*fedkit.History
	for i, a := range []float64{0.1, 0.2, 0.3, 0.4, 0.5} {
		h = append(h, seeded(uint64(i), historyOf("FedAvg", a, 0.4, a+0.4)))
	}
	h[4].Rounds[1].Global = nil
	f := Accuracy(h...)
	expect.OK(t, f.Err())
	const half = 0.19632431614775 // 2.776445 · 0.1581139 / √5
	s := f.Series[0]
	expect.That(t, len(f.Series) == 1 && near(s.X, []float64{1, 3}) && near(s.Y, []float64{0.3, 0.7}) &&
		near(s.Lo, []float64{0.3 - half, 0.7 - half}) && near(s.Hi, []float64{0.3 + half, 0.7 + half}), "%+v", f.Series)
	means := "; means over rounds that all runs have: FedAvg 2 of 3; values in 2 of 3 rounds (FedAvg)"
	want := "line: mean of 5 runs; band: 95 % confidence interval" + means
	expect.That(t, f.Note == want, "note %q, want %q", f.Note, want)
	f = Accuracy(h[3:]...)
	few := f.Series
	expect.That(t, len(few) == 3 && near(few[0].Y, []float64{0.45, 0.85}) && few[0].Hi == nil && near(few[1].Y, []float64{0.4, 0.4, 0.8}) && few[1].Thin && near(few[2].X, []float64{1, 3}),
		"%+v", few)
	want = "line: mean of 2 runs; thin lines: single runs" + means
	expect.That(t, f.Note == want, "note %q, want %q", f.Note, want)
}

// Without a global model in every history, the clients' own count, weighted by examples: (1·0.2 + 3·0.6)/4 = 0.5.
func TestMeanOverClients(t *testing.T) {
	a := scored(historyOf("A", 0.9), 0, []float64{0.2, 0.6, nan}, []int{1, 3, 0})
	b := scored(historyOf("B", nan, nan), 1, []float64{0.25}, []int{7})
	f := Accuracy(a, b)
	expect.OK(t, f.Err())
	expect.That(t, near(f.Series[0].Y, []float64{0.5}) && near(f.Series[1].X, []float64{2}) && near(f.Series[1].Y, []float64{0.25}), "%+v", f.Series)
	expect.That(t, strings.Contains(f.Y.Title, "clients"), "axis %q", f.Y.Title)
	if f := Accuracy(a); !strings.Contains(f.Y.Title, "global") || !near(f.Series[0].Y, []float64{0.9}) {
		t.Errorf("alone: %q, %v", f.Y.Title, f.Series[0].Y)
	}
}

func TestLossAxis(t *testing.T) {
	h := historyOf("x", 0, 0, 0)
	for i, l := range []float64{1e4, 1, 0.5} {
		h.Rounds[i].Global.Loss = fedkit.Float(l)
	}
	f := Over(compare.Loss, h)
	expect.That(t, f.Err() == nil && f.Y.Log, "%+v, %v: losses over 4 powers of ten need a logarithmic axis", f, f.Err())
	f = Over(compare.Loss, historyOf("x", 0.1, 0.5))
	expect.That(t, f.Err() == nil && !f.Y.Log, "%+v, %v", f, f.Err())
}

func TestBox(t *testing.T) {
	f := ClientAccuracy(scored(historyOf("A", 0.5), 0, []float64{0.4, 0.2, 0.1, 0.3, 0.5}, []int{1, 1, 1, 1, 1}))
	expect.OK(t, f.Err())
	box, dots, bar := f.Series[0], f.Series[1], f.Series[2]
	expect.That(t, near(box.X, []float64{0.2}) && near(box.X2, []float64{0.4}) && near([]float64{(bar.X[0] + bar.X2[0]) / 2}, []float64{0.3}),
		"box %v–%v, median %v–%v", box.X, box.X2, bar.X, bar.X2)
	expect.That(t, near(dots.X, []float64{0.1, 0.2, 0.3, 0.4, 0.5}) && slices.Equal(dots.Tip, []string{"2", "1", "3", "0", "4"}),
		"dots %v %v", dots.X, dots.Tip)
}

// Beyond 40 clients there are cells, and a strip of the true groups.
func TestLabelsOfManyClients(t *testing.T) {
	f := Labels(federation(130, 4, 2, 0.5))
	expect.That(t, f.Err() == nil && f.Series[len(f.Series)-1].Name == "group 1" && f.Series[0].Tip != nil && f.Series[0].Values != nil && strings.Contains(f.Note, "first 100 of 130"),
		"%v %v", f, f.Err())
}

func TestStays(t *testing.T) {
	h := &fedkit.History{Rounds: []fedkit.Record{
		{Round: 1}, {Round: 2, Clusters: []int{0, 1}}, {Round: 3}, {Round: 4, Clusters: []int{0, 0}}, {Round: 5, Clusters: []int{-1, 0}},
	}}
	rounds := expect.Value(assigned(h))(t)
	want := []stay{{0, 0, 2, 5}, {1, 1, 2, 4}, {1, 0, 4, 6}}
	got := stays(rounds, []int{0, 1})
	expect.That(t, slices.Equal(got, want), "%v, want %v", got, want)
	// Clients that change every round: only some of the rounds are drawn.
	h, rng := &fedkit.History{}, rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		a := make([]int, 60)
		for c := range a {
			a[c] = rng.IntN(3)
		}
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Clusters: a})
	}
	for _, f := range []*chart.Figure{Clusters(h), Clusters(h, make([]int, 60)...)} {
		expect.Must(t, f.Err() == nil && strings.Contains(f.Note, "of the 300 rounds") && f.Fits(), "%v %v %v", f, f.Err(), f.Fits())
		charttest.Spec(t, f)
	}
}

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
	s := f.Series[0]
	expect.That(t, near(s.Y, []float64{0.2, 0.3, 0.4}) && f.Note == "line: mean of 2 runs; thin lines: single runs; A: seed 0 was given again and counts once",
		"%v, %q", s.Y, f.Note)
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

// noted returns a run with a note; NaN is a round without it.
func noted(seed uint64, name string, values ...float64) *fedkit.History {
	h := seeded(seed, &fedkit.History{Name: "CFL"})
	for i, v := range values {
		r := fedkit.Record{Round: i + 1, Notes: map[string]fedkit.Float{"other": 1}}
		if v == v {
			r.Notes[name] = fedkit.Float(v)
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// Mean and runs are those of accuracy.
func TestNote(t *testing.T) {
	f := Over(compare.Note("norm"), noted(0, "norm", 1, nan, 4000), noted(1, "norm", 3, 5, 4000))
	expect.OK(t, f.Err())
	s := f.Series[0]
	expect.That(t, len(f.Series) == 3 && s.Name == "CFL" && near(s.X, []float64{1, 3}) && near(s.Y, []float64{2, 4000}) &&
		near(f.Series[1].Y, []float64{1, 4000}) && near(f.Series[2].X, []float64{1, 2, 3}) && f.Y.Title == "norm" && f.Y.Log && f.X.Title == "round", "%+v", f)
}

// metered gives round i of h a metric of the global model, and of clients with one example each; NaN is a client without.
func metered(h *fedkit.History, i int, global float64, clients ...float64) *fedkit.History {
	of := func(v float64) map[string]fedkit.Float {
		return map[string]fedkit.Float{"F1": fedkit.Float(v), "ECE": 0}
	}
	if h.Rounds[i].Global != nil {
		h.Rounds[i].Global.Metrics = of(global)
	}
	for _, v := range clients {
		s := fedkit.Score{Examples: 1, Metrics: of(v)}
		if v != v {
			delete(s.Metrics, "F1")
		}
		h.Rounds[i].Scores = append(h.Rounds[i].Scores, s)
	}
	return h
}

// A metric is that of the global model, or the mean over the clients that have it.
func TestMetric(t *testing.T) {
	a := metered(metered(historyOf("A", 0.1, 0.1), 0, 0.25, 0.5), 1, 0.75, 0.5)
	f := Over(compare.Metric("F1"), a)
	expect.OK(t, f.Err())
	s := f.Series[0]
	expect.That(t, len(f.Series) == 1 && near(s.Y, []float64{0.25, 0.75}) && f.Y.Title == "F1 of the global model" && f.Title == "Test F1", "%+v", f)
	b := metered(historyOf("B", nan), 0, nan, 0.5, 0.75, nan)
	f = Over(compare.Metric("F1"), a, b)
	expect.OK(t, f.Err())
	expect.That(t, near(f.Series[0].Y, []float64{0.5, 0.5}) && near(f.Series[1].Y, []float64{0.625}) && f.Y.Title == "F1 of the clients' models (mean)",
		"%+v", f)
	a.Rounds[0].Personal = true
	if f := Over(compare.Metric("F1"), a); len(f.Series) != 2 || f.Series[1].Name != "A, clients' own" || !near(f.Series[1].Y, []float64{0.5, 0.5}) {
		t.Errorf("personal models: %+v", f)
	}
}

// personal returns a run that served personal models beside a global one.
func personal(name string) *fedkit.History {
	h := historyOf(name, 0.5, 0.6)
	for i := range h.Rounds {
		h.Rounds[i].Personal = true
		scored(h, i, []float64{0.7 + 0.1*float64(i), 0.9}, []int{1, 1})
	}
	return h
}

// ordinary returns a run with one model, which the clients were scored under too.
func ordinary(name string) *fedkit.History {
	return scored(scored(historyOf(name, 0.4, 0.5), 0, []float64{0.4, 0.4}, []int{1, 1}), 1, []float64{0.3, 0.7}, []int{1, 1})
}

// If a strategy serves a global and personal models, both curves are drawn and named.
func TestPersonalCurves(t *testing.T) {
	f := Accuracy(personal("FedPRISM"), ordinary("FedAvg"))
	expect.OK(t, f.Err())
	expect.Must(t, len(f.Series) == 3 && f.Y.Title == "accuracy of the global model and of the clients' models (mean)" &&
		f.Note == "unless a name says otherwise: of the global model", "%d curves, axis %q, note %q", len(f.Series), f.Y.Title, f.Note)
	for i, want := range []struct {
		name, like string
		y          []float64
	}{{"FedPRISM, global", "", []float64{0.5, 0.6}}, {"FedPRISM, clients' own", "FedPRISM, global", []float64{0.8, 0.85}}, {"FedAvg", "", []float64{0.4, 0.5}}} {
		s := f.Series[i]
		of, _, two := strings.Cut(want.name, ", ")
		expect.That(t, s.Name == want.name && s.Like == want.like && near(s.Y, want.y) && (!two || s.Of == of), "%+v, want %+v", s, want)
	}
	charttest.Golden(t, "personal", f)

	// Beside a run without a global model, all are compared by the clients' own.
	local := scored(historyOf("Local", nan, nan), 1, []float64{0.2, 0.4}, []int{1, 1})
	local.Rounds[1].Personal = true
	f = Over(compare.Loss, personal("FedPRISM"), local)
	expect.That(t, len(f.Series) == 3 && f.Series[0].Name == "FedPRISM, clients' own" && f.Series[1].Name == "FedPRISM, global" &&
		f.Series[1].Like == f.Series[0].Name && f.Series[2].Name == "Local" && f.Note == "unless a name says otherwise: of the clients' models (mean); values in 1 of 2 rounds (Local)", "%+v, note %q", f.Series, f.Note)
	if f := Accuracy(ordinary("FedAvg")); len(f.Series) != 1 || f.Series[0].Name != "FedAvg" || f.Y.Title != "accuracy of the global model" {
		t.Errorf("one model: %+v, axis %q", f.Series, f.Y.Title)
	}
}

func TestPersonalLive(t *testing.T) {
	row := live("live", ended(t, personal("FedPRISM")))
	expect.That(t, len(row) == 2 && len(row[0].Series) == 2 && row[0].Series[1].Name == "FedPRISM, clients' own", "%+v", row)
}

// regressed returns a run of a regression whose rounds have these R², of the global model and, a little apart, of three clients.
func regressed(name string, r2 ...float64) *fedkit.History {
	h := historyOf(name, r2...)
	score := func(r2 float64) fedkit.Score {
		values := map[string]fedkit.Float{"R²": fedkit.Float(r2), "RMSE": 2, "MAE": 1}
		return fedkit.Score{Accuracy: fedkit.Float(math.NaN()), Loss: 2, Examples: 10, Metrics: values}
	}
	for i, v := range r2 {
		global := score(v)
		h.Rounds[i].Global, h.Rounds[i].Scores = &global, []fedkit.Score{score(v - 3), score(v - 1), score(v + 0.1)}
	}
	return h
}

// Figures of accuracy are of R² for regressions: with its name, as plain numbers, and also below 0.
func TestRegressionFigures(t *testing.T) {
	a, b := regressed("A", -1, 0.5, 0.7), regressed("B", -2, 0.4, 0.6)
	panels := []Panel{{Name: "x", Runs: []*fedkit.History{a, b}}, {Name: "y", Runs: []*fedkit.History{a, b}}}
	for name, f := range map[string]*chart.Figure{
		"Accuracy": Accuracy(a, b), "Against": Against(compare.Sent, compare.Accuracy, a, b), "ClientAccuracy": ClientAccuracy(a, b),
		"live": live("live", ended(t, a, b))[0], "Ranks": Ranks(compare.Accuracy, panels...), "Dots": Dots(compare.Quantity{}, "A", panels...)[0],
	} {
		expect.OK(t, f.Err())
		words := f.Title + f.X.Title + f.Y.Title + f.Note
		expect.That(t, !f.X.Percent && !f.Y.Percent && !strings.Contains(words, "ccuracy") && strings.Contains(words, "R²"),
			"%s says %q, percent: %v, %v", name, words, f.X.Percent, f.Y.Percent)
		charttest.Spec(t, f)
	}
	if f := Accuracy(a); f.Title != "Test R²" || f.Y.Title != "R² of the global model" || !near(f.Series[0].Y, []float64{-1, 0.5, 0.7}) {
		t.Errorf("%q, %q: %v", f.Title, f.Y.Title, f.Series[0].Y)
	}
	if f := ClientAccuracy(a); !near(f.Series[1].X, []float64{-2.3, -0.3, 0.8}) || !(f.Series[2].X[0] < -0.3 && f.Series[2].X2[0] > -0.3) {
		t.Errorf("clients at %v, median at %v to %v", f.Series[1].X, f.Series[2].X, f.Series[2].X2)
	}
	row := live("live", ended(t, historyOf("labels", 0.1, 0.2), a))
	expect.That(t, len(row) == 2 && len(row[0].Series) == 1 && row[0].Title == "Test R²" && len(row[1].Series) == 2, "beside labels: %+v", row)
	chart.Dir = t.TempDir()
	defer func() { chart.Dir = "" }()
	said := charttest.Capture(t, &os.Stderr, func() { play(Live(), a, nil) })
	expect.That(t, strings.Contains(said, "· R² 0.700 · loss 2") && !strings.Contains(said, "accuracy"), "the line is %q", said)
}
