package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/table"
)

// Lines are groups by name, whichever panel has them first, and what a panel lacks is a dash.
func TestPivot(t *testing.T) {
	x := Panel{Name: "x", Runs: slices.Concat(method("A", 0.5, 0.6), method("B", 0.9, 0.7))}
	y := Panel{Name: "y", Runs: slices.Concat(method("C", 0.3, 0.4), method("A", 0.3, 0.4))}
	z := Panel{Name: "z", Runs: slices.Concat(method("C", 0.5), method("B", 0.7), method("A", 0.7))}
	tab := Pivot{}.Table(x, y, z)
	expect.OK(t, tab.Err())
	for i, want := range [][]string{
		{"accuracy", "x", "y", "z"},
		{"A", "55.0 ± 63.5 %", "35.0 ± 63.5 %", "70.0 %"},
		{"B", "80.0 ± 127.1 %", "–", "70.0 %"},
		{"C", "–", "35.0 ± 63.5 %", "50.0 %"},
	} {
		if !slices.Equal(tab.Lines[i], want) {
			t.Errorf("line %d: %q, want %q", i, tab.Lines[i], want)
		}
	}
	if got, want := bold(tab), []table.At{{Line: 1, Column: 3}, {Line: 2, Column: 1}, {Line: 2, Column: 3}}; !slices.Equal(got, want) { // in y, all tie
		t.Errorf("bold %v, want %v", got, want)
	}
	if want := "mean over 1 to 2 seeds ± 95 % confidence interval; accuracy of the global model; bold (* in text): best mean"; tab.Note != want {
		t.Errorf("%q, want %q", tab.Note, want)
	}
	if got := strings.Split(tab.CSV(), "\n"); got[0] != "run,x,x ±,x n,y,y ±,y n,z,z ±,z n" || !strings.HasPrefix(got[3], "C,,,0,0.35,0.635310236") || !strings.HasSuffix(got[3], ",2,0.5,,1") {
		t.Errorf("%q", got)
	}
}

// bold returns the cells that are bold, line by line.
func bold(tab *table.Table) (all []table.At) {
	for i, line := range tab.Lines {
		for k := range line {
			if at := (table.At{Line: i, Column: k}); tab.Bold[at] {
				all = append(all, at)
			}
		}
	}
	return all
}

// By hand: A has ranks 2, 1.5 and 1, B 1, 3 (it is missing) and 2, C 3 (missing), 1.5 and 3.
func TestPivotRanked(t *testing.T) {
	tab := Pivot{Ranked: true}.Table(
		Panel{"x", slices.Concat(method("B", 0.9), method("A", 0.5))},
		Panel{"y", slices.Concat(method("C", 0.3), method("A", 0.3))},
		Panel{"z", slices.Concat(method("C", 0.5), method("B", 0.6), method("A", 0.7))})
	if got := numbers(t, tab, "mean rank"); !near(got, []float64{1.5, 2, 2.5}) {
		t.Error(got)
	}
	if tab.Lines[1][0] != "A" || tab.Lines[2][0] != "B" || !slices.Equal(bold(tab), []table.At{{Line: 1, Column: 3}, {Line: 2, Column: 1}}) {
		t.Errorf("%q, %v", tab.Lines, bold(tab))
	}
}

// Smaller losses are better. A mean over some of the runs is never the best.
func TestPivotMarksWholeMeans(t *testing.T) {
	a, b := method("A", 0.5, 0.6), method("B", 0.4, 0.9)
	b[0].Rounds[1].Global.Loss = history.Float(math.Inf(1))
	c := method("C", 0.3, 0.3)
	tab := Pivot{By: Loss}.Table(Panel{"x", slices.Concat(a, b, c)})
	if n := numbers(t, tab, "x n"); !slices.Equal(n, []float64{2, 1, 2}) { // in the mean
		t.Error(n)
	}
	if got := cells(t, tab, "B", "x"); got[0] != "0.100 (1/2)" || !slices.Equal(bold(tab), []table.At{{Line: 1, Column: 1}}) {
		t.Errorf("%q, %v", got, bold(tab))
	}
	if !strings.Contains(tab.Note, "best mean of those that all runs have") || !strings.Contains(tab.Note, "in brackets") {
		t.Error(tab.Note)
	}
}

// The format of a quantity does not decide how many runs have it.
func TestPivotOfQuantitiesInBrackets(t *testing.T) {
	q := Quantity{Name: "grade", Summary: Accuracy.Value, Format: func(v float64) string { return table.Percent(v) + " (of 100)" }}
	tab := Pivot{By: q}.Table(Panel{Name: "x", Runs: slices.Concat(method("A", 0.5), method("B", 0.4))})
	if got := cells(t, tab, "A", "x"); got[0] != "50.0 % (of 100)" || !slices.Equal(bold(tab), []table.At{{Line: 1, Column: 1}}) || strings.Contains(tab.Note, "in brackets") {
		t.Errorf("%q, %v, %q", got, bold(tab), tab.Note)
	}
}

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
