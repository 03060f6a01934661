package plot

import (
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

// problem returns the runs of three methods with two seeds each; the first is the better the larger by is.
func problem(by float64) (all []*fedkit.History) {
	for seed := range uint64(2) {
		luck := float64(seed) / 100
		all = append(all, seeded(seed, historyOf("Good", 0.3, 0.6+by+luck)), seeded(seed, historyOf("Fair", 0.2, 0.55+luck)),
			seeded(seed, historyOf("Poor", 0.1, 0.4-by+luck)))
	}
	return all
}

// panels are problems on which Good, Fair and Poor always come in this order.
func panels(n int) (all []Panel) {
	for i := range n {
		all = append(all, Panel{Name: "α = " + strings.Repeat("1", i+1), Runs: problem(0.02 * float64(i))})
	}
	return all
}

func TestAgainst(t *testing.T) {
	f := Against(compare.Sent, compare.Accuracy, historyOf("A", nan, 0.5), seeded(1, historyOf("A", nan, 0.7)), historyOf("B", 0.1, nan, 0.3))
	expect.OK(t, f.Err())
	// A round sends 3,000 bytes.
	a, b := f.Series[0], f.Series[1]
	expect.That(t, near(a.X, []float64{6}) && near(a.Y, []float64{0.6}) && near(b.X, []float64{3, 9}) && f.X.Title == "sent, both ways (kB)",
		"%+v, axis %q", f.Series, f.X.Title)
	charttest.Golden(t, "against", f)
	slow := historyOf("A", 0.2, 0.3)
	slow.Seed, slow.Rounds[0].Seconds = 1, 2.5
	f = Against(compare.Time, compare.Accuracy, historyOf("A", 0.1, 0.2), slow)
	expect.OK(t, f.Err())
	s := f.Series[0]
	expect.That(t, near(s.X, []float64{1.5, 2}) && strings.HasSuffix(f.Note, "; time: mean over runs"), "%v, note %q", s.X, f.Note)
	f = Against(compare.Simulated, compare.Accuracy, timed(historyOf("A", nan, 0.2, 0.3), 3600, 7200, 14400), timed(seeded(1, historyOf("A", 0.1, 0.3, 0.4)), 1, 10800, 21600))
	expect.OK(t, f.Err())
	s = f.Series[0]
	expect.That(t, near(s.X, []float64{2.5, 5}) && f.X.Title == "simulated time (h)" && f.Name == "accuracy-against-simulated" && strings.HasSuffix(f.Note, "; simulated time: mean over runs"),
		"%v, %q, %q, note %q", s.X, f.X.Title, f.Name, f.Note)
}

// Figures of several problems have the same ranges and colors, at most four in a line.
func TestMultiples(t *testing.T) {
	row := Facets(Accuracy, panels(5)...)
	expect.OK(t, row.Err())
	for i := range row {
		x, y := domain(row, i, "x"), domain(row, i, "y")
		expect.That(t, near(x, []float64{1, 2}) && near(y, domain(row, 0, "y")) && y[1] >= 0.69, "%q covers %v and %v", row[i].Title, x, y)
	}
	spec := row.VegaLite()
	expect.That(t, len(spec["concat"].([]any)) == 5 && spec["columns"] == 3.0, "%d columns", spec["columns"])
	charttest.Golden(t, "multiples", Facets(Accuracy, panels(2)...))
	charttest.Spec(t, row)
}

// domain returns the range of an axis of figure i.
func domain(row chart.Row, i int, axis string) []float64 {
	view := row.VegaLite()["concat"].([]any)[i].(map[string]any)
	encoding := view["layer"].([]any)[0].(map[string]any)["encoding"].(map[string]any)
	ends := encoding[axis].(map[string]any)["scale"].(map[string]any)["domain"].([]any)
	return []float64{ends[0].(float64), ends[1].(float64)}
}

// Ranges are shared by figures in the same unit: 6 of kB is not 6 of MB.
func TestMultiplesOfOtherUnits(t *testing.T) {
	large := historyOf("A", 0.5, 0.7)
	large.Rounds[0].BytesUp = 1e6
	bytes := func(h ...*fedkit.History) *chart.Figure { return Against(compare.Sent, compare.Accuracy, h...) }
	row := Facets(bytes, Panel{Name: "small", Runs: []*fedkit.History{historyOf("A", 0.5, 0.7)}}, Panel{Name: "large", Runs: []*fedkit.History{large}})
	expect.OK(t, row.Err())
	a, b := domain(row, 0, "x"), domain(row, 1, "x")
	expect.That(t, a[0] >= 2 && a[1] >= 6 && b[0] >= 1 && b[1] <= 1.01, "%s %v, %s %v", row[0].X.Title, a, row[1].X.Title, b)
	row = Facets(over(compare.RoundTime), Panel{Name: "short", Runs: []*fedkit.History{timed(historyOf("A", 0.5), 60)}}, Panel{Name: "long", Runs: []*fedkit.History{timed(historyOf("A", 0.5), 6000)}})
	a, b = domain(row, 0, "y"), domain(row, 1, "y")
	expect.That(t, a[1] == 60 && b[1] == 100, "%s %v, %s %v", row[0].Y.Title, a, row[1].Y.Title, b)
}

// Good, Fair and Poor come in this order on 14 problems: their ranks are 1, 2 and 3, and CD is 2.3437·√(12/84) = 0.886.
func TestRanks(t *testing.T) {
	f := Ranks(compare.Accuracy, panels(14)...)
	expect.OK(t, f.Err())
	s := f.Series[1]
	expect.That(t, near(s.X, []float64{1, 2, 3}) && slices.Equal(f.Y.Names, []string{"Poor", "Fair", "Good"}) && strings.Contains(f.Note, "critical difference, 0.886;"),
		"%+v, rows %q, note %q", f.Series, f.Y.Names, f.Note)
	s = f.Series[0]
	expect.That(t, s.X2[0] <= s.X[1] && s.X2[1] <= s.X[2], "lines overlap: %+v", s)
	few := Ranks(compare.Accuracy, panels(4)...) // CD is 1.66: Good and Poor differ
	expect.OK(t, few.Err())
	s = few.Series[0]
	expect.That(t, s.X2[0] >= s.X[1] && s.X2[1] >= s.X[2] && s.X2[0] <= s.X[2], "%+v", s)
	charttest.Golden(t, "ranks", few)
	if f := Ranks(compare.Accuracy, panels(1)...); !strings.HasPrefix(f.Note, "mean of 2 seeds; ") {
		t.Errorf("note %q, %v", f.Note, f.Err())
	}
}

// The methods of all panels are rows, the best on top, and the baseline is a line down each figure.
func TestDots(t *testing.T) {
	row := Dots(compare.Quantity{}, "Fair", panels(5)...)
	expect.OK(t, row.Err())
	f := row[0]
	expect.That(t, slices.Equal(f.Y.Names, []string{"Poor", "Fair", "Good"}) && f.X.Title == "accuracy" && f.X.Percent && near(f.Series[0].X, []float64{0.555}) && strings.HasPrefix(f.Note, "line: Fair; mean over 2 seeds"),
		"rows %q, axis %q, %+v, note %q", f.Y.Names, f.X.Title, f.Series, f.Note)
	// Of 5 panels, 3 are in the first line. Their dots are at 0.6 + 0.04 + luck, and the intervals end at 0 and 1.
	f = row[2]
	expect.That(t, f.X.Title == "" && f.Y.Names[0] == "" && row[3].Y.Names[0] == "Poor" && near(f.Series[2].X[:1], []float64{0.645}) && f.Series[2].Tip[0] == "Good: 64.5 ± 6.4 %",
		"%+v", f)
	charttest.Golden(t, "dots", row[:2])
	charttest.Spec(t, row)
	noted := historyOf("A", 0.5)
	noted.Rounds[0].Notes = map[string]fedkit.Float{"late": 3}
	row = Dots(compare.Note("late"), "", Panel{Name: "x", Runs: []*fedkit.History{historyOf("A", 0.5)}}, Panel{Name: "y", Runs: []*fedkit.History{noted}})
	expect.That(t, row.Err() == nil && len(row) == 1 && row[0].Title == "y" && row[0].Y.Names[0] == "A" && strings.HasPrefix(row[0].Note, "left out, without a value: x"),
		"%v, %d figures, note %q", row.Err(), len(row), row[0].Note)
}

// Each cell has its number, without the interval, which is in the tip; the best of a column has an asterisk.
func TestGrid(t *testing.T) {
	all := append(panels(2), Panel{Name: "β", Runs: []*fedkit.History{historyOf("Fair", 0.5)}})
	f := Grid(compare.Pivot{}, all...)
	expect.OK(t, f.Err())
	text := map[string]string{}
	for _, s := range f.Series {
		for i, tip := range s.Tip {
			text[tip] = s.Text[i]
		}
	}
	for tip, want := range map[string]string{"Good, α = 1: 60.5 ± 6.4 %": "60.5*", "Poor, α = 11: 38.5 ± 6.4 %": "38.5", "Good, β: –": "–", "Fair, β: 50.0 %": "50.0"} {
		expect.That(t, text[tip] == want, "%s: %q, want %q", tip, text[tip], want)
	}
	expect.That(t, f.Title == "accuracy (%)" && strings.Contains(f.Note, "; *: best mean") && slices.Equal(f.X.Names, []string{"α = 1", "α = 11", "β"}),
		"%q, %q, %q", f.Title, f.Note, f.X.Names)
	charttest.Golden(t, "grid", f)
}

// Good is ahead of Fair by 0.05, 0.07, … on 6 problems with 2 seeds, and Poor behind by 0.15, ….
func TestForest(t *testing.T) {
	f := Forest(compare.Quantity{}, "Fair", panels(6)...)
	expect.OK(t, f.Err())
	better, worse := f.Series[4], f.Series[5]
	expect.That(t, slices.Equal(f.Y.Names, []string{"Poor", "Good"}) && near(better.X, []float64{10}) && near(worse.X, []float64{-20}) && f.X.Title == "accuracy minus that of Fair, points",
		"%q, %v, %v, %q", f.Y.Names, better, worse, f.X.Title)
	expect.That(t, strings.HasPrefix(better.Tip[0], "Good: 10.0 (") && strings.HasPrefix(f.Note, "12 pairs of runs; Wilcoxon's signed-rank test, Hodges–Lehmann estimate; "),
		"%q, %q", better.Tip, f.Note)
	charttest.Golden(t, "forest", f)
	// The smaller loss is better.
	if f := Forest(compare.Loss, "Fair", panels(2)...); f.Err() != nil || f.Y.Names[1] != "Good" || len(f.Series[4].X) != 1 || f.Series[4].X[0] > 0 || !strings.Contains(f.Note, "paired t test") {
		t.Errorf("%v, %+v, %q", f.Err(), f.Series, f.Note)
	}
}

// rated returns a run of a study with a step size.
func rated(name, eta string, seed uint64, accuracy float64) *fedkit.History {
	h := seeded(seed, historyOf(name, 0.1, accuracy))
	h.Labels, h.Name = []history.Label{{Key: "name", Value: name}, {Key: "η", Value: eta}}, name+", η "+eta
	return h
}

// A line for each method, without the label, in the order of its values, with dots for a few seeds; a run that diverged is left out
// and counted.
func TestBy(t *testing.T) {
	runs := []*fedkit.History{rated("A", "0.1", 0, 0.5), rated("A", "0.1", 1, 0.7), rated("A", "0.01", 0, 0.4), rated("B", "1", 0, 0.9), rated("B", "0.1", 0, math.Inf(1))}
	f := By("η", compare.Accuracy, runs...)
	expect.OK(t, f.Err())
	s := byName(f)
	expect.That(t, len(f.Series) == 3 && near(f.Series[0].X, []float64{0.01, 0.1}) && near(f.Series[0].Y, []float64{0.4, 0.6}) && f.Series[0].Hi == nil && near(s["B"].X, []float64{1}) &&
		near(f.Series[2].Y, []float64{0.4, 0.5, 0.7}) && f.Series[2].Thin && f.Series[2].Mark == chart.Dots, "%+v", f.Series)
	expect.That(t, f.X.Log && f.X.Title == "η" && f.Title == "accuracy by η" && f.Y.Title == "accuracy of the global model" && strings.Contains(f.Note, "line: mean of 1 to 2 runs; small dots: single runs; left out: 1 run without a finite accuracy (B)"),
		"%q, %+v, %+v, %q", f.Title, f.X, f.Y, f.Note)
	charttest.Spec(t, f)
}

// A custom quantity is drawn as any other; bytes are those so far, in a unit that suits them.
func TestOver(t *testing.T) {
	steps := compare.PerRound("steps", func(r *fedkit.Record) (float64, bool) { return float64(10 * r.Round), r.Round > 1 })
	f := Over(steps, historyOf("A", 0.1, 0.2, 0.3), seeded(1, historyOf("A", 0.1, 0.2)))
	expect.OK(t, f.Err())
	s := f.Series[0]
	expect.That(t, near(s.X, []float64{2}) && near(s.Y, []float64{20}) && f.Title == "steps" && f.Y.Title == "steps", "%+v", f)
	if f := Over(compare.Sent, historyOf("A", 0.1, 0.2)); !near(f.Series[0].Y, []float64{3, 6}) || f.Y.Title != "sent, both ways (kB)" {
		t.Errorf("%+v", f)
	}
}
