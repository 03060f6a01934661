package plot

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// figures is one of each kind.
func figures() map[string]*chart.Figure {
	a, b := historyOf("FedAvg", 0.2, 0.4, 0.6), seeded(1, historyOf("FedAvg", 0.4, nan, 0.8))
	return map[string]*chart.Figure{
		"accuracy": Accuracy(a, b, historyOf("FedProx", 0.3, 0.5, 0.9)),
		"loss":     Over(compare.Loss, a),
		"clients": ClientAccuracy(scored(historyOf("A", 0.5), 0, []float64{0.1, 0.5, 0.9, nan}, []int{5, 5, 5, 5}),
			scored(historyOf("B", 0.5), 0, []float64{1, 1}, []int{5, 0})),
		"labels":     Labels(federation(6, 4, 2, 0.5)),
		"sizes":      Sizes(federation(6, 4, 2, 0.5)),
		"sizes-many": Sizes(federation(130, 4, 2, 0.5)),
		"samples":    Samples(tiny(), 4),
		"clusters":   Clusters(synthetic("IFCA", 1, 8, 4, 6, 0.9)),

		"against-clock": Against(compare.Simulated, compare.Accuracy, timed(historyOf("FedAvg", 0.2, 0.4, 0.6), 500, 1000, 1500), timed(historyOf("FedAsync", 0.1, 0.5), 300, 600)),
		"gantt":         Gantt(atWork()),
		"idle":          Over(compare.Idle, atWork(), working("FedAvg", 3, 5)),
		"round-times":   Over(compare.RoundTime, atWork(), timed(seeded(1, atWork()), 9, 18), working("FedAvg", 3, 5)),
		"staleness":     Staleness(atWork(), attended("FedAvg", 3, []int{0, 1}, []int{2})),
	}
}

func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing")
	}
	for name, f := range figures() {
		t.Run(name, func(t *testing.T) {
			charttest.Golden(t, name, f)
		})
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(0.5, 0.1, 3, 1)
	f.Add(nan, math.Inf(-1), 0, -1)
	f.Fuzz(func(t *testing.T, a, l float64, n, k int) {
		s := fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(l), Examples: n}
		h := &fedkit.History{Name: "<b>", Rounds: []fedkit.Record{
			{Round: n, Global: &s, Scores: []fedkit.Score{s, {}}, Clusters: []int{k, k % 3}}, {Round: k, Scores: []fedkit.Score{s}},
		}}
		h.Rounds[1].Clustering = &history.Clustering{Count: k, ARI: s.Accuracy, Distances: []fedkit.Float{s.Loss, s.Accuracy}}
		for _, f := range []*chart.Figure{Accuracy(h, h), Over(compare.Loss, h, h), ClientAccuracy(h, h), Clusters(h), Clusters(h, k, n), Over(compare.ARI, h, h), Over(compare.Clusters, h), ClusterDistances(h)} {
			fuzzed(t, f)
		}
	})
}

// fuzzed fails the test if a drawing function panicked, or if the figure's specification is invalid.
func fuzzed(t *testing.T, f *chart.Figure) {
	t.Helper()
	if err := f.Err(); err == nil {
		charttest.Spec(t, f)
	} else if strings.Contains(err.Error(), "could not be drawn") {
		t.Error(err)
	}
}

// parts calls see with every object in a specification.
func parts(t *testing.T, row chart.Row, see func(map[string]any)) {
	t.Helper()
	expect.OK(t, row.Err())
	text := expect.Value(json.Marshal(row.VegaLite()))(t)
	var spec any
	expect.OK(t, json.Unmarshal(text, &spec))
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			see(v)
			for _, part := range v {
				walk(part)
			}
		case []any:
			for _, part := range v {
				walk(part)
			}
		}
	}
	walk(spec)
}

// numbers are those of a JSON list.
func numbers(list any) []float64 {
	return each(list.([]any), func(v any) float64 { return v.(float64) })
}

// band returns the band of a figure's first line as it is drawn.
func band(t *testing.T, f *chart.Figure) (lo, hi []float64) {
	t.Helper()
	parts(t, chart.Row{f}, func(part map[string]any) {
		if part["k"] == 0. && part["lo"] != nil {
			lo, hi = numbers(part["lo"]), numbers(part["hi"])
		}
	})
	return lo, hi
}

// axes returns the ends of all axes of a title.
func axes(t *testing.T, title string, row chart.Row) (all [][]float64) {
	t.Helper()
	parts(t, row, func(part map[string]any) {
		if to, is := part["scale"].(map[string]any); is && part["title"] == title {
			all = append(all, numbers(to["domain"]))
		}
	})
	return all
}

// Nothing is drawn where an accuracy or a loss cannot be.
func TestBandsEndWhereScoresDo(t *testing.T) {
	runs := []*fedkit.History{seeded(4, historyOf("FedAvg", 0.5, 0.5))}
	for seed := range uint64(4) {
		runs = append(runs, seeded(seed, historyOf("FedAvg", 0, 1)))
	}
	lo, hi := band(t, Accuracy(runs...))
	expect.That(t, lo[0] == 0 && hi[1] == 1, "accuracy from %v to %v", lo, hi) // 0.1 and 0.9 ± 0.28
	lo, hi = band(t, Over(compare.Loss, runs...))
	expect.That(t, lo[1] == 0 && hi[0] >= 1.1, "loss from %v to %v", lo, hi) // 0.9 and 0.1 ± 0.28
}

// Whatever a figure leaves out, its note says so.
func TestNothingIsLeftOutInSilence(t *testing.T) {
	inf := math.Inf(1)
	clocked, stopped := timed(historyOf("A", 0.1, 0.2, 0.3), 5, 9, nan), historyOf("A", 0.1, 0.2)
	stopped.Stopped = true
	wide := []*fedkit.History{} // means span powers of ten, and the interval of the first round reaches below 0
	for seed, first := range []float64{1, 1, 1, 1, 5e4} {
		wide = append(wide, noted(uint64(seed), "norm", first, 1))
	}
	for name, c := range map[string]struct {
		f    *chart.Figure
		note string // its end
	}{
		"one seed":       {Accuracy(historyOf("A", 0.1, 0.2)), ""},
		"not finite":     {Accuracy(historyOf("A", 0.1, inf, inf), historyOf("B", 0.1, 0.2, 0.3)), "left out: 2 values not finite (A)"},
		"a run diverges": {Accuracy(historyOf("A", 0.1, 0.2), seeded(1, historyOf("A", 0.3, inf))), "means over rounds that all runs have: A 1 of 2; left out: 1 value not finite (A)"},
		"not evaluated":  {Accuracy(historyOf("A", nan, 0.2, nan, 0.3), historyOf("B", 0.1, 0.2)), "values in 2 of 4 rounds (A)"},
		"other rounds":   {Accuracy(historyOf("A", 0.1, 0.2, 0.3), seeded(1, historyOf("A", 0.1))), "means over rounds that all runs have: A 1 of 3; A: the runs have 1 to 3 rounds"},
		"stopped":        {Accuracy(stopped), "A: stopped after 2 rounds"},
		"one is stopped": {Accuracy(stopped, seeded(1, historyOf("A", 0.3, 0.4, 0.5))), "; A, seed 0: stopped after 2 rounds"},
		"without a cost": {Against(compare.Simulated, compare.Accuracy, clocked), "left out: 1 of 3 points, not finite"},
		"a band below 0": {Over(compare.Note("norm"), wide...), "band: 95 % confidence interval"},
		"many":           {Over(compare.Loss, historyOf("A", inf, 1), historyOf("B", inf, 1), historyOf("C", inf, 1), historyOf("D", inf, 1), historyOf("E", inf, 1)), "left out: 5 values not finite (A, B, C and 2 more)"},
		"clients":        {ClientAccuracy(scored(historyOf("A", 0.5), 0, []float64{0.2, nan, 0.4}, []int{1, 1, 0})), "left out: 2 clients of A without a finite accuracy on test rows"},
	} {
		said := ""
		parts(t, chart.Row{c.f}, func(part map[string]any) {
			switch note := part["subtitle"].(type) {
			case string:
				said = note
			case map[string]any: // an expression, which ends with the lines of a wide figure
				lines := note["expr"].(string)
				said = strings.Trim(strings.ReplaceAll(lines[strings.LastIndex(lines, " : ")+3:], "', '", " "), "['] ")
			}
		})
		charttest.Spec(t, c.f)
		if said = strings.ReplaceAll(said, "\u00a0", " "); !strings.HasSuffix(said, c.note) || c.note == "" && said != "" {
			t.Errorf("%s: said %q, want … %q", name, said, c.note)
		}
	}
	lo, _ := band(t, Over(compare.Note("norm"), wide...))
	expect.That(t, lo[0] == 1, "on a logarithmic axis, the band reaches down to %g: the least that it shows is 1", lo[0])
}

// An axis of accuracy ends at 100 %, though a median is there, and in small figures side by side too.
func TestAxesOfAccuracyEndAt100(t *testing.T) {
	run := scored(historyOf("LocalOnly", 0.9), 0, []float64{0, 1, 1, 1}, []int{1, 1, 1, 1})
	row := Facets(ClientAccuracy, Panel{Name: "a", Runs: []*fedkit.History{run}}, Panel{Name: "b", Runs: []*fedkit.History{run}})
	all := axes(t, "test accuracy of the client", row)
	if len(all) == 0 || slices.ContainsFunc(all, func(ends []float64) bool { return ends[0] != 0 || ends[1] != 1 }) {
		t.Errorf("the axes are %v", all)
	}
	for _, s := range row[0].Series {
		expect.That(t, s.Mark != chart.Cells || (slices.Max(s.X2) <= 1 && s.X2[0]-s.X[0] >= 0.004), "a bar from %v to %v", s.X, s.X2)
	}
}

// Panels of one index have one axis, though only one of them has values below 0.
func TestPanelsShareBounds(t *testing.T) {
	row := Facets(over(compare.ARI), Panel{Name: "a", Runs: []*fedkit.History{grouped("IFCA", 0, []float64{-0.3, 1})}}, Panel{Name: "b", Runs: []*fedkit.History{grouped("IFCA", 0, []float64{0.5, 1})}})
	for _, ends := range axes(t, "adjusted Rand index", row) {
		expect.That(t, ends[0] == -0.3 && ends[1] == 1, "an axis over %v", ends)
	}
}

// Maps that are drawn beside each other have one scale.
func TestHeatBeside(t *testing.T) {
	low, high := sample(), sample()
	for i := range high.Rounds {
		for k := range high.Rounds[i].Results {
			high.Rounds[i].Results[k].Drift += 0.2
		}
	}
	a, b := Heat(low, Drift, low, high), Heat(high, Drift, low, high)
	expect.OK(t, errors.Join(a.Err(), b.Err()))
	least, most := slices.Min(a.Series[0].Values), slices.Max(b.Series[0].Values)
	c := a.Series[0].Covers
	expect.That(t, near(c, []float64{least, most}) && slices.Equal(c, b.Series[0].Covers) && a.Series[0].Of == "drift",
		"the scales cover %v and %v, want %g to %g", c, b.Series[0].Covers, least, most)
	expect.That(t, Heat(low, Drift, low, nil).Err() != nil, "a nil history beside")
}
