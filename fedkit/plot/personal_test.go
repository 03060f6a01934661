package plot

import (
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

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
		if of, _, two := strings.Cut(want.name, ", "); s.Name != want.name || s.Like != want.like || !near(s.Y, want.y) || two && s.Of != of {
			t.Errorf("%+v, want %+v", s, want)
		}
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
	if row := live("live", ended(t, personal("FedPRISM"))); len(row) != 2 || len(row[0].Series) != 2 || row[0].Series[1].Name != "FedPRISM, clients' own" {
		t.Errorf("%+v", row)
	}
}
