package plot

import (
	"math"
	"os"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

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
	if row := live("live", ended(t, historyOf("labels", 0.1, 0.2), a)); len(row) != 2 || len(row[0].Series) != 1 || row[0].Title != "Test R²" || len(row[1].Series) != 2 {
		t.Errorf("beside labels: %+v", row)
	}
	said := charttest.Capture(t, &os.Stderr, func() { play(Live(), a, nil) })
	expect.That(t, strings.Contains(said, "· R² 0.700 · loss 2") && !strings.Contains(said, "accuracy"), "the line is %q", said)
}
