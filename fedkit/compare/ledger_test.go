package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/table"
)

var (
	clear   = []float64{0.031, 0.042, 0.025, 0.038, 0.035}
	unclear = []float64{0.012, 0.003, 0.02, -0.004, 0.015}
	opposed = []float64{-0.021, -0.03, -0.018, -0.025, -0.027}
)

// numbers returns a column of the data of a table.
func numbers(t *testing.T, tab *table.Table, head string) (v []float64) {
	t.Helper()
	if err := tab.Err(); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(tab.Data[0], any(head))
	for _, line := range tab.Data[1:] {
		v = append(v, line[at].(float64))
	}
	return v
}

// p values and intervals are those of SciPy 1.17.1, and Holm's correction counts the tests of a claim:
//
//	import numpy as np; from scipy import stats as st
//	all = [(clear, 0), (unclear, 0), (opposed, 0), (clear, 0.01), (unclear, 0.05)]
//	p = np.array([st.ttest_1samp(d, least).pvalue for d, least in all])
//	a = p[:3]; o = np.argsort(a); q = np.empty(3); q[o] = np.minimum(1, np.maximum.accumulate((3 - np.arange(3)) * a[o]))
//	[st.t.interval(0.95, 4, np.mean(d), st.sem(d))[1] - np.mean(d) for d, _ in all]
func TestLedger(t *testing.T) {
	tab := Ledger{
		{Claim: "A", In: []Setting{{"x", clear}, {"y", unclear}, {"z", opposed}}},
		{Claim: "B", Unit: "points", Least: 0.01, In: []Setting{{"x", slices.Insert(slices.Clone(clear), 2, nan)}, {"y", []float64{nan, 1}}}},
		{Claim: "C", Least: 0.05, In: []Setting{{"", unclear}}},
	}.Table()
	for head, want := range map[string][]float64{
		"p":        {0.0003048689373449201, 0.09946172610351249, 0.00034267581112913393, 0.0011607059466576751, nan, 0.0006920739663443918},
		"p (Holm)": {0.0009146068120347603, 0.09946172610351249, 0.0009146068120347603, 0.0011607059466576751, nan, 0.0006920739663443918},
		"here":     {0.0342, 0.0092, -0.0242, 0.0342, 1, 0.0092},
		"here ±":   {0.00811368282504251, 0.011954845177046737, 0.005915848146857947, 0.00811368282504251, nan, 0.011954845177046737},
		"n":        {5, 5, 5, 5, 1, 5},
	} {
		for i, got := range numbers(t, tab, head) {
			if !close(got, want[i]) {
				t.Errorf("%s: line %d: %v, want %v", head, i+1, got, want[i])
			}
		}
	}
	for i, want := range []string{"holds only with x; the opposite with z", "", "", "holds with x; too few runs with y", "", "does not hold here: less than claimed"} {
		if got := tab.Lines[i+1][7]; got != want {
			t.Errorf("line %d: %q, want %q", i+1, got, want)
		}
	}
	if n := cells(t, tab, "B", "n", "effect"); !slices.Equal(n, []string{"5/6", "above 1.0 points"}) {
		t.Errorf("%q", n)
	}
	if !strings.HasPrefix(tab.Note, "verdicts: holds only 1, holds 1, does not hold here 1; ") || !strings.Contains(tab.Note, "; 5 tests") {
		t.Error(tab.Note)
	}
}

// Verdicts name the settings in which a claim holds, and claim no more than the runs show.
func TestVerdicts(t *testing.T) {
	same, none := []float64{2, 2, 2}, []float64{0, 0, 0}
	for _, c := range []struct {
		least float64
		in    []Setting
		want  string
	}{
		{0, []Setting{{"", clear}}, "holds"},
		{0, []Setting{{"x", clear}, {"y", same}}, "holds"},
		{0, []Setting{{"x", clear}, {"y", same}, {"z", unclear}}, "holds only with x, y"},
		{0, []Setting{{"x", clear}, {"y", unclear}, {"z", nil}}, "holds only with x; too few runs with z"},
		{0, []Setting{{"", opposed}}, "does not hold here: the opposite"},
		{0, []Setting{{"x", opposed}, {"y", unclear}}, "does not hold here: the opposite with x"},
		{-0.05, []Setting{{"x", opposed}, {"y", none}}, "holds"}, // not worse by more than 0.05
		{0, []Setting{{"", unclear}}, "not seen here"},
		{0, []Setting{{"x", none}, {"y", []float64{1}}}, "not seen here; too few runs with y"},
		{0, []Setting{{"x", []float64{5}}, {"y", []float64{nan, nan}}}, "too few runs"},
		{0.1, []Setting{{"", []float64{0.3 - 0.2, 0.2 - 0.1, 0.4 - 0.3}}}, "not seen here"}, // which is 0.1 each time
	} {
		l := Ledger{{Claim: "A", Least: c.least, In: c.in}}
		if got := cells(t, l.Table(), "A", "verdict")[0]; got != c.want {
			t.Errorf("%v above %v: %q, want %q", c.in, c.least, got, c.want)
		}
	}
}

// An effect in one setting may be chance, and so may one in one of many. Other claims do not matter.
func TestLedgerCorrectsWithinAClaim(t *testing.T) {
	seen := Setting{"x", []float64{0.03, 0.01, 0.04, 0.015, 0.05}} // p = 0.018
	other := Finding{Claim: "B", In: []Setting{{"", unclear}}}
	for n, want := range map[int]string{1: "holds", 2: "holds only with x", 3: "not seen here"} {
		f := Finding{Claim: "A", In: []Setting{seen}}
		for k := 1; k < n; k++ {
			f.In = append(f.In, Setting{fmt.Sprint("y", k), unclear})
		}
		if got := cells(t, Ledger{other, f, other}.Table(), "A", "verdict")[0]; got != want {
			t.Errorf("%d settings: %q, want %q", n, got, want)
		}
	}
}

// The last columns are shown if they have content, and one links to the heading.
func TestLedgerColumns(t *testing.T) {
	f := Finding{Claim: "<A>", Unit: "points", In: []Setting{{"x", clear}, {"y", nil}}}
	if head := (Ledger{f}).Table().Lines[0]; head[len(head)-1] != "verdict" {
		t.Errorf("%q", head)
	}
	f.Cell, f.Source = "3 · Who wins, and where?", "paper"
	tab := Ledger{f}.Table()
	if got := cells(t, tab, "<A>", "source", "here", "see"); !slices.Equal(got, []string{"paper", "+3.4 ± 0.8 points", f.Cell}) {
		t.Errorf("%q", got)
	}
	if html := tab.HTML(); !strings.Contains(html, `<td rowspan="2" style="text-align:left;vertical-align:top"><a href="#3-Who-wins,-and-where?">3 · Who wins`) || strings.Contains(html, "<A>") {
		t.Error(html)
	}
	if f.Remark = "one data set"; !slices.Equal(cells(t, Ledger{f}.Table(), "<A>", "remark"), []string{f.Remark}) {
		t.Error("no remark")
	}
}

func TestLedgerMistakes(t *testing.T) {
	in := []Setting{{"x", clear}}
	for says, l := range map[string]Ledger{
		"compare: ledger: no claim":                                                {},
		`compare: ledger: invalid: Claim = ""`:                                     {{In: in}},
		`compare: ledger: claim "A": invalid: In = empty: must be at least one`:    {{Claim: "A"}},
		`compare: ledger: claim "A": invalid: Setting.Name = "": must be set, as `: {{Claim: "A", In: append(in, Setting{})}},
		`compare: ledger: claim "A": invalid: Least = NaN: must be finite`:         {{Claim: "A", In: in, Least: nan}},
	} {
		if err := l.Table().Err(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestHeading(t *testing.T) {
	for words, want := range map[string]string{"Who wins": "Who-wins", "3 · Who  wins, if?": "3-Who-wins,-if?", `a "b" c%20 <d>`: "a"} {
		if got := Heading(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
