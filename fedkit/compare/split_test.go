package compare

import (
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// labeled gives runs of a study a label.
func labeled(key, value string, hs ...*history.History) []*history.History {
	for _, h := range hs {
		h.Labels = []history.Label{{Key: "name", Value: h.Name}, {Key: key, Value: value}}
		h.Name += ", " + key + " " + value
	}
	return hs
}

// A panel is a value of the label, which its names do not repeat; the runs that are given keep theirs.
func TestSplit(t *testing.T) {
	hs := slices.Concat(labeled("α", "0.1", method("A", 0.5, 0.6)...), labeled("α", "1", method("A", 0.7)...), method("B", 0.8))
	panels := Split("α", hs...)
	names := each(panels, func(p Panel) string { return p.Name + ": " + p.Runs[0].Name })
	if want := []string{"0.1: A", "1: A", "no α: B"}; !slices.Equal(names, want) || hs[0].Name != "A, α 0.1" {
		t.Errorf("%q, want %q; the first is %q", names, want, hs[0].Name)
	}
	if got := Split("seed", hs...); len(got) != 2 || got[0].Runs[1].Name != "A, α 1" {
		t.Errorf("by seed: %+v", got)
	}
	tab := Pivot{}.Table(panels...)
	if got := cells(t, tab, "A", "0.1", "1", "no α"); !slices.Equal(got, []string{"55.0 ± 63.5 %", "70.0 %", "–"}) {
		t.Errorf("%q", got)
	}
	expect.Error(t, "history 1 is nil")((Pivot{}).Table(Split("α", nil, hs[0])...).Err())
}

// A custom quantity is a column, a pivot, a claim and a line for pandas; here the error in percent, by hand.
func TestCustomQuantity(t *testing.T) {
	wrong := PerRound("error", func(r *history.Record) (float64, bool) {
		return 100 * float64(1-r.Score().Accuracy), r.Score() != nil
	})
	wrong.LowerIsBetter = true
	hs := slices.Concat(labeled("α", "1", method("A", 0.5, 0.75)...), labeled("α", "1", method("B", 0.25, 0.25)...))
	if got := cells(t, Comparison{More: []Quantity{wrong}, By: wrong, Baseline: "A, α 1"}.Table(hs...), "B, α 1", "error", "difference"); !slices.Equal(got, []string{"75", "+38 ± 159"}) {
		t.Errorf("%q", got)
	}
	if tab := (Pivot{By: wrong}).Table(Split("α", hs...)...); !slices.Equal(bold(tab), nil) && tab.Lines[1][0] != "A" {
		t.Errorf("%q, %v", tab.Lines, bold(tab))
	}
	if got := Lead(wrong, "A", "B", Split("α", hs...)...)[0].Here; !near(got, []float64{25, 50}) {
		t.Errorf("lead %v", got)
	}
	if got := Lead(wrong, "A", "", Split("α", hs...)...)[0].Here; !near(got, []float64{50, 25}) {
		t.Errorf("numbers %v", got)
	}
	want := "run,α,seed,round,quantity,value\nA,1,0,1,error,90\nA,1,0,2,error,50\nA,1,0,2,rounds to 50 %,2\n"
	if got := Tidy([]Quantity{wrong, RoundsTo(0.5)}, hs[0]).CSV(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The mean of rounds t−1 and t, of which round 3 was not evaluated, and what it costs until it is at a target.
func TestLastRounds(t *testing.T) {
	h := ran("A", 0.1, 0.4, nan, 0.6, 0.8)
	q := LastRounds(2, Accuracy)
	r := expect.Value(Runs(h))(t)
	if got := each(q.ByRound(r[0], GlobalModel), func(v Value) float64 { return v.Of }); !near(got, []float64{0.1, 0.25, 0.6, 0.7}) {
		t.Errorf("%v", got)
	}
	if got := slices.Concat(q.Of(h), Until(q, 0.6, Rounds).Of(h), Until(Loss, 0.6, Sent).Of(h)); !near(got, []float64{0.7, 4, 6000}) {
		t.Errorf("%v", got)
	}
	if got := LastRounds(0, Accuracy).Of(h); !near(got, []float64{0.8}) {
		t.Errorf("of no rounds: %v", got)
	}
	if never := Until(q, 0.9, Rounds).Of(h)[0]; never == never || !q.Scored() || q.Name != "accuracy, last 2 rounds" {
		t.Errorf("%v, %q", never, q.Name)
	}
}
