package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
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
	expect.OK(t, tab.Err())
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
func TestClaims(t *testing.T) {
	tab := Claims{
		{What: "A", In: []Setting{{"x", clear}, {"y", unclear}, {"z", opposed}}},
		{What: "B", Unit: "points", Says: Above(0.01), In: []Setting{{"x", slices.Insert(slices.Clone(clear), 2, nan)}, {"y", []float64{nan, 1}}}},
		{What: "C", Says: Above(0.05), In: []Setting{{"", unclear}}},
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
		if got := tab.Lines[i+1][slices.Index(tab.Lines[0], "verdict")]; got != want {
			t.Errorf("line %d: %q, want %q", i+1, got, want)
		}
	}
	if n := cells(t, tab, "B", "n", "claimed"); !slices.Equal(n, []string{"5/6", "> 1.0 points"}) {
		t.Errorf("%q", n)
	}
	if !strings.HasPrefix(tab.Note, "verdicts: holds only 1, holds 1, does not hold here 1; ") || !strings.Contains(tab.Note, "; tests: 5") {
		t.Error(tab.Note)
	}
}

// Verdicts name the settings in which a claim holds, and claim no more than the runs show.
func TestVerdicts(t *testing.T) {
	same, none := []float64{2, 2, 2}, []float64{0, 0, 0}
	for _, c := range []struct {
		says Bound
		in   []Setting
		want string
	}{
		{Above(0), []Setting{{"", clear}}, "holds"},
		{Above(0), []Setting{{"x", clear}, {"y", same}}, "holds"},
		{Above(0), []Setting{{"x", clear}, {"y", same}, {"z", unclear}}, "holds only with x, y"},
		{Above(0), []Setting{{"x", clear}, {"y", unclear}, {"z", nil}}, "holds only with x; too few runs with z"},
		{Above(0), []Setting{{"", opposed}}, "does not hold here: the opposite"},
		{Above(0), []Setting{{"x", opposed}, {"y", unclear}}, "does not hold here: the opposite with x"},
		{Above(-0.05), []Setting{{"x", opposed}, {"y", none}}, "holds"}, // not worse by more than 0.05
		{Above(0), []Setting{{"", unclear}}, "cannot tell"},
		{Above(0), []Setting{{"x", none}, {"y", []float64{1}}}, "cannot tell; too few runs with y"},
		{Above(0), []Setting{{"x", []float64{5}}, {"y", []float64{nan, nan}}}, "too few runs"},
		{Above(0.1), []Setting{{"", []float64{0.3 - 0.2, 0.2 - 0.1, 0.4 - 0.3}}}, "cannot tell"}, // which is 0.1 each time
		{Below(0), []Setting{{"", opposed}}, "holds"},
		{Below(0), []Setting{{"", clear}}, "does not hold here: the opposite"},
		{Below(-1), []Setting{{"", opposed}}, "does not hold here: more than claimed"},
		{Reported(0.01), []Setting{{"", unclear}}, "cannot tell"}, // a wide interval around it
		{Reported(3.4), []Setting{{"", []float64{3.4, 3.5, 3.3}}}, "as reported"},
		{Reported(3.4), []Setting{{"", []float64{3.6, 3.8, 3.7}}}, "cannot tell"}, // the margin of 0.34 is inside the interval
		{Reported(2), []Setting{{"x", same}, {"y", clear}, {"z", []float64{1}}}, "as reported with x; less than reported with y; too few runs with z"},
		{Reported(-1), []Setting{{"", opposed}}, "more than reported"},
	} {
		l := Claims{{What: "A", Says: c.says, In: c.in}}
		if got := cells(t, l.Table(), "A", "verdict")[0]; got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.in, c.says, got, c.want)
		}
	}
}

// An effect in one setting may be chance, and so may one in one of many. Other claims do not matter.
func TestClaimsCorrectsWithinAClaim(t *testing.T) {
	seen := Setting{"x", []float64{0.03, 0.01, 0.04, 0.015, 0.05}} // p = 0.018
	other := Claim{What: "B", In: []Setting{{"", unclear}}}
	for n, want := range map[int]string{1: "holds", 2: "holds only with x", 3: "cannot tell"} {
		f := Claim{What: "A", In: []Setting{seen}}
		for k := 1; k < n; k++ {
			f.In = append(f.In, Setting{fmt.Sprint("y", k), unclear})
		}
		if got := cells(t, Claims{other, f, other}.Table(), "A", "verdict")[0]; got != want {
			t.Errorf("%d settings: %q, want %q", n, got, want)
		}
	}
}

// The last columns are shown if they have content, and one links to the heading.
func TestClaimsColumns(t *testing.T) {
	f := Claim{What: "<A>", Unit: "points", In: []Setting{{"x", clear}, {"y", nil}}}
	if head := (Claims{f}).Table().Lines[0]; head[len(head)-1] != "verdict" || slices.Contains(head, "source") {
		t.Errorf("%q", head)
	}
	f.Cell, f.Source = "3 · Who wins, and where?", "paper"
	tab := Claims{f}.Table()
	if got := cells(t, tab, "<A>", "source", "here", "see"); !slices.Equal(got, []string{"paper", "+3.4 ± 0.8 points", f.Cell}) {
		t.Errorf("%q", got)
	}
	if html := tab.HTML(); !strings.Contains(html, `<td rowspan="2" style="text-align:left;vertical-align:top"><a href="#3-Who-wins,-and-where?">3 · Who wins`) || strings.Contains(html, "<A>") {
		t.Error(html)
	}
	if f.Why = "one data set"; !slices.Equal(cells(t, Claims{f}.Table(), "<A>", "why"), []string{f.Why}) {
		t.Error("no reason")
	}
}

// A number that is reproduced is told from a claim that is tested.
func TestReproducedAndTested(t *testing.T) {
	number, claim := Claim{What: "A", Says: Reported(1), Here: []float64{1, 1}}, Claim{What: "B", Here: clear}
	numbers, tested := Claims{claim, number, claim}.split()
	if len(numbers) != 1 || len(tested) != 2 || numbers[0].What != "A" {
		t.Error(numbers, tested)
	}
	for _, c := range []struct {
		of   Claims
		want [2]string
		tall int
	}{
		{numbers, [2]string{"reproduced number", "reported"}, 4},
		{tested, [2]string{"tested claim", "claimed"}, 3},
		{Claims{claim, number}, [2]string{"claim", "claimed"}, 4},
	} {
		tab := c.of.Table()
		if head := tab.Lines[0]; head[0] != c.want[0] || !slices.Contains(head, c.want[1]) || len(tab.Tall) != c.tall {
			t.Errorf("%q, %v", head, tab.Tall)
		}
	}
}

// Numbers without noise need no seeds, one run has no verdict, and another setting has none either.
func TestMargins(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		want  string
	}{
		{Claim{Says: Reported(0.952), Unit: "%", Here: []float64{0.955, 0.956, 0.955}}, "as reported"},
		{Claim{Says: Reported(0.952), Unit: "%", Here: []float64{0.955}}, "too few runs"},
		{Claim{Says: Reported(0.952), Unit: "%", Here: []float64{0.97, 0.971, 0.972}}, "more than reported"},
		{Claim{Says: Reported(0.952), Unit: "%", Here: []float64{0.97, 0.971, 0.972}, Within: 0.03}, "as reported"},
		{Claim{Says: Reported(0.952), Unit: "%", Here: []float64{0.97, 0.971, 0.972}, Unlike: "EMNIST"}, "another setting"},
		{Claim{Says: Reported(20), Here: []float64{22}, Exact: true}, "as reported"},
		{Claim{Says: Reported(20), Here: []float64{22.1}, Exact: true}, "more than reported"},
		{Claim{Says: Above(20), Here: []float64{22}, Exact: true}, "holds"},
		{Claim{Says: Below(20), Here: []float64{22}, Exact: true}, "does not hold here: more than claimed"},
	} {
		c.claim.What = "A"
		if got := cells(t, Claims{c.claim}.Table(), "A", "verdict")[0]; got != c.want {
			t.Errorf("%+v: %q, want %q", c.claim, got, c.want)
		}
	}
	tab := Claims{{What: "A", Says: Reported(0.952), Unit: "%", Here: clear, Unlike: "EMNIST", Why: "short"}}.Table()
	if got := cells(t, tab, "A", "why", "gap"); !slices.Equal(got, []string{"there: EMNIST; short", "−91.8 points"}) {
		t.Errorf("%q", got)
	}
}

func TestHeading(t *testing.T) {
	for words, want := range map[string]string{"Who wins": "Who-wins", "3 · Who  wins, if?": "3-Who-wins,-if?", `a "b" c%20 <d>`: "a"} {
		if got := Heading(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// Numbers have as many digits as are significant, and their unit.
func TestReported(t *testing.T) {
	for _, c := range []struct {
		l    Claim
		want []string // reported, here, gap
	}{
		{Claim{Says: Reported(20), Here: []float64{31, 42, 49}, Unit: "rounds"}, []string{"20 rounds", "41 ± 23 rounds", "+20.7 rounds"}},
		{Claim{Says: Reported(0.97), Here: []float64{0.91, 0.905, 0.915}, Unit: "%"}, []string{"97.0 %", "91.0 ± 1.2 %", "−6.0 points"}},
		{Claim{Says: Reported(0.014), Here: []float64{-0.002}, Unit: "points"}, []string{"1.4 points", "−0.2 points", "−1.6 points"}},
		{Claim{Says: Reported(3), Here: []float64{1.044, 1.1, 0.99}, Unit: "times"}, []string{"3 times", "1.04 ± 0.14 times", "−1.96 times"}},
		{Claim{Says: Reported(0), Here: []float64{-1.3e-8}}, []string{"0", "−1.3×10⁻⁸", "−1.3×10⁻⁸"}},
		{Claim{Says: Reported(0), Here: []float64{nan, 2}}, []string{"0", "2", "+2"}},
		{Claim{Says: Reported(1), Here: nil}, []string{"1", "–", "–"}},
		{Claim{Says: Reported(100000), Here: []float64{123456.7}}, []string{"100000", "123457", "+23457"}},
	} {
		c.l.What = "A"
		if got := cells(t, Claims{c.l}.Table(), "A", "reported", "here", "gap"); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A lead is positive if the first is better, seed by seed, and a panel without runs has none.
func TestLead(t *testing.T) {
	x := Panel{"x", slices.Concat(method("A", 0.9, 0.7, 0.8), method("B", 0.4, 0.6), method("C", 0.1))}
	bad := Panel{"bad", []*history.History{nil}}
	for what, c := range map[string]struct {
		got  []Setting
		want []float64
	}{
		"accuracy": {Lead(Quantity{}, "A", "B", x, bad), []float64{0.5, 0.1}},
		"loss":     {Lead(Loss, "B", "A", x, bad), []float64{-0.5, -0.1}},
		"saved":    {Saved(Loss, "A", "B", x, bad), []float64{0.833333333333, 0.25}}, // 1 − 0.1/0.6, 1 − 0.3/0.4
		"nobody":   {Lead(Accuracy, "A", "D", x, bad), nil},
		"never":    {Lead(RoundsTo(0.5), "A", "B", x, bad), []float64{nan, 0}},
	} {
		if len(c.got) != 2 || c.got[0].Name != "x" || c.got[1].Name != "bad" || c.got[1].Here != nil {
			t.Errorf("%s: %v", what, c.got)
		}
		if got := c.got[0].Here; !slices.EqualFunc(got, c.want, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	// The second seed of A is at 0.7 in round 2, as B is; B's first is never at 0.5.
	tab := Claims{{What: "A", In: Lead(RoundsTo(0.5), "A", "B", x)}}.Table()
	if got := cells(t, tab, "A", "n", "verdict"); !slices.Equal(got, []string{"1/2", "too few runs"}) {
		t.Errorf("%q", got)
	}
}
