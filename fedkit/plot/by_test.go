package plot

import (
	"math"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	hist "fedkit.example/fedkit/history"
)

// rated returns a run of a study with a step size.
func rated(name, eta string, seed uint64, accuracy float64) *fedkit.History {
	h := seeded(seed, historyOf(name, 0.1, accuracy))
	h.Labels, h.Name = []hist.Label{{Key: "name", Value: name}, {Key: "η", Value: eta}}, name+", η "+eta
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
	if s := f.Series[0]; !near(s.X, []float64{2}) || !near(s.Y, []float64{20}) || f.Title != "steps" || f.Y.Title != "steps" {
		t.Errorf("%+v", f)
	}
	if f := Over(compare.Sent, historyOf("A", 0.1, 0.2)); !near(f.Series[0].Y, []float64{3, 6}) || f.Y.Title != "sent, both ways (kB)" {
		t.Errorf("%+v", f)
	}
}
