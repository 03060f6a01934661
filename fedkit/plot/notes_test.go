package plot

import (
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/expect"
)

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
	if s := f.Series[0]; len(f.Series) != 1 || !near(s.Y, []float64{0.25, 0.75}) || f.Y.Title != "F1 of the global model" || f.Title != "Test F1" {
		t.Errorf("%+v", f)
	}
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
