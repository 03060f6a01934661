package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/table"
)

// method returns runs with these accuracies, one per seed.
func method(name string, accuracy ...float64) (all []*history.History) {
	for seed, a := range accuracy {
		all = append(all, seeded(uint64(seed), ran(name, 0.1, a)))
	}
	return all
}

// cells returns the cells of a line under these headers.
func cells(t *testing.T, tab *table.Table, line string, heads ...string) (of []string) {
	t.Helper()
	expect.OK(t, tab.Err())
	i := slices.IndexFunc(tab.Lines, func(l []string) bool { return l[0] == line })
	for _, head := range heads {
		of = append(of, tab.Lines[i][slices.Index(tab.Lines[0], head)])
	}
	return of
}

// p values of t and Wilcoxon are those of SciPy 1.17.1:
//
//	from scipy import stats; import numpy as np
//	base = np.array([0.50, 0.52, 0.55, 0.49, 0.53])
//	for d in [[0.03, 0.01, 0.04, -0.015, 0.05], [0.10, 0.11, 0.12, 0.13, 0.14]]:
//		print(stats.ttest_rel(base + d, base).pvalue, stats.wilcoxon(base + d, base).pvalue)
//
// prints 0.11787 and 0.1875, 0.00007 and 0.0625. Holm doubles the lower one of each kind.
func TestDifferences(t *testing.T) {
	base := []float64{0.50, 0.52, 0.55, 0.49, 0.53}
	plus := func(d ...float64) []float64 {
		for i := range d {
			d[i] += base[i]
		}
		return d
	}
	hs := slices.Concat(method("FedAvg", base...), method("Near", plus(0.03, 0.01, 0.04, -0.015, 0.05)...),
		method("Far", plus(0.10, 0.11, 0.12, 0.13, 0.14)...), method("Once", 0.6), method("Same", base...))
	slices.Reverse(hs) // pairs are found by their seeds, not by their order
	tab := Comparison{Baseline: "FedAvg"}.Table(hs...)
	for line, want := range map[string][]string{
		"FedAvg": {"", "", "", "", "", ""},
		"Near":   {"+2.3 ± 3.2 points", "5", "0.118", "0.118", "0.188", "0.188"},
		"Far":    {"+12.0 ± 2.0 points", "5", "< 0.001", "< 0.001", "0.062", "0.125"},
		"Once":   {"+10.0 points", "1", "–", "–", "–", "–"},
		"Same":   {"0.0 points", "5", "–", "–", "–", "–"},
	} {
		if got := cells(t, tab, line, "difference", "pairs", "p (t)", "p (t, Holm)", "p (Wilcoxon)", "p (Wilcoxon, Holm)"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if !strings.Contains(tab.Note, "difference: accuracy minus that of FedAvg") || !strings.Contains(tab.Note, "signed-rank test, two-sided (exact)") {
		t.Errorf("note %q", tab.Note)
	}
}

// Differences of runs are those of the table, and ties if they are equal up to rounding.
func TestDifferencesOfRuns(t *testing.T) {
	if d := Differences(Accuracy, method("A", 0.2, 0.3, 0.9), method("B", 0.1, 0.2, 0.8)); !slices.Equal(d, []float64{0.1, 0.1, 0.1}) {
		t.Errorf("%v", d)
	}
	a, b := method("A", 0.9, 0.7, 0.8), method("B", 0.5, 0.6)
	if got := Differences(Accuracy, []*history.History{a[2], a[1], a[0]}, b); !slices.Equal(got, []float64{0.1, 0.4}) {
		t.Error(got)
	}
	for _, none := range [][]*history.History{nil, {nil}} {
		if got := Differences(Quantity{}, a, none); len(got) > 0 {
			t.Error(got)
		}
	}
}

// Runs are a pair if all seeds that both have are equal.
func TestPairs(t *testing.T) {
	softmax := func(seed, part uint64) *history.History {
		return changed(func(h *history.History) { h.Seed, h.Config = seed, config.Of(FedAvg{Selector: Softmax{2, part}}) })
	}
	dealt := func(runSeed, dealSeed uint64, name string) *history.History {
		h := dealtBy(dealSeed, "noise, seed "+string(rune('0'+dealSeed)), "a")
		h.Seed, h.Name = runSeed, name
		return h
	}
	words := func(p string) *history.History { return changed(func(h *history.History) { h.Partition = p }) }
	for what, c := range map[string]struct {
		a, b *history.History
		want bool
	}{
		"the same seed":                        {with(1, 0.1), with(1, 0.2), true},
		"other seeds":                          {with(1, 0.1), with(2, 0.1), false},
		"a seed that only one has":             {with(1, 0.1), softmax(1, 7), true},
		"other seeds of a part":                {softmax(1, 7), softmax(1, 8), false},
		"a seed of a part, and 0":              {softmax(1, 7), softmax(1, 0), false},
		"other seeds of the partition":         {dealt(1, 2, "A"), dealt(1, 3, "B"), false},
		"one seed of the partition":            {dealt(1, 2, "A"), dealt(1, 2, "B"), true},
		"other seeds of the partition, in old": {words("IID, seed 1"), words("IID, seed 2"), false},
		"one seed of the partition, in old":    {words("IID, seed 1"), words("IID, seed 1"), true},
	} {
		runs := expect.Value(Runs(c.a, c.b))(t)
		if got := paired(runs[0], runs[1]); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func TestTargets(t *testing.T) {
	hs := []*history.History{ran("A", 0.5, nan, 0.95), seeded(1, ran("A", 0.9)), seeded(2, ran("A", 0.8)), ran("B", 0.95), ran("C", 0.1)}
	tab := Comparison{Target: 0.9}.Table(hs...)
	for line, want := range map[string][]string{
		"A": {"2 (2/3)", "6 kB (2/3)", "1.00 s (2/3)"},
		"B": {"1", "3 kB", "0.50 s"},
		"C": {"–", "–", "–"},
	} {
		if got := cells(t, tab, line, "rounds to 90 %", "bytes to 90 %", "time to 90 %"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if v := RoundsTo(0.9).Of(hs...); !slices.Equal(v[:2], []float64{3, 1}) || v[2] == v[2] {
		t.Errorf("%v", v)
	}
}

func TestData(t *testing.T) {
	tab := Comparison{Columns: []string{"n", "accuracy", "rounds to 90 %"}, Target: 0.9}.Table(append(method("A", 0.5, 0.75), ran("B, λ", 0.95))...)
	want := "run,n,accuracy,accuracy ±,rounds to 90 %,rounds to 90 % reached\n" +
		"A,2,0.625,1.5882755920218365,,0\n" +
		"\"B, λ\",1,0.95,,1,1\n"
	if got := tab.CSV(); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestMistakes(t *testing.T) {
	one, in := ran("one", 0.5), []Setting{{"x", clear}}
	own := scored(ran("P", nan), 0, []float64{0.5}, []int{1})
	for says, tab := range map[string]*table.Table{
		"table: no history given":                                          Table(),
		"table: history 2 is nil":                                          Table(one, nil),
		`table: history "blank" has no evaluated round among`:              Table(ran("blank", nan)),
		"table: invalid: Target = 90: must be an accuracy in (0, 1]":       Comparison{Target: 90}.Table(one),
		"table: invalid: Target = NaN":                                     Comparison{Target: nan}.Table(one),
		`table: invalid: Baseline = "FedAvg": must be one of "one", "two"`: Comparison{Baseline: "FedAvg"}.Table(one, ran("two", 0.5)),
		`table: invalid: Columns = "acuracy": must be one of "rounds", "a`: Comparison{Columns: []string{"acuracy"}}.Table(one),
		"pivot: no panel given":                                            Pivot{}.Table(),
		`pivot: panel "x": no history given`:                               Pivot{}.Table(Panel{Name: "x"}),
		`pivot: panel "y": history 1 is nil`:                               Pivot{}.Table(Panel{"x", method("A", 0.5)}, Panel{"y", []*history.History{nil}}),
		`pivot: history "A" has only a global model and "P" only `:         Pivot{}.Table(Panel{"x", method("A", 0.5)}, Panel{"y", []*history.History{own}}),
		"claims: no claim":                                                 Claims{}.Table(),
		`claims: invalid: What = ""`:                                       Claims{{In: in}}.Table(),
		`claims: claim "A": invalid: In = empty: must be at least one`:     Claims{{What: "A", In: []Setting{}}}.Table(),
		`claims: claim "A": invalid: Setting.Name = "": must be set, as `:  Claims{{What: "A", In: append(in, Setting{})}}.Table(),
		`claims: claim "A": invalid: Says = NaN: must be finite`:           Claims{{What: "A", In: in, Says: Above(nan)}}.Table(),
	} {
		if err := tab.Err(); err == nil || !strings.HasPrefix(err.Error(), "compare: "+says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// A repeated run, and groups without a difference in words, are remarked on; a history without clients' scores works.
func TestRemarks(t *testing.T) {
	long, short := ran("A", 0.1, 0.2, 0.3), ran("A", 0.1, 0.2)
	if s := Table(long, short).String(); strings.Contains(s, " n ") || !strings.Contains(s, "counts once") {
		t.Errorf("table:\n%s", s)
	}
	if s := Table(ran("A", 0.1), ran("A", 0.2)).String(); !strings.Contains(s, "A (1)") || !strings.Contains(s, "nothing in words tells them apart") {
		t.Errorf("table:\n%s", s)
	}
	if s := Table(with(0, 0.001), with(0, 0.1)).String(); strings.Contains(s, "±") || !strings.Contains(s, "FedAvg, Local.LR 0.1 ") {
		t.Errorf("table:\n%s", s)
	}
	short.Stopped = true
	if tab := Table(short, seeded(1, ran("A", 0.3, 0.4, 0.5))); !strings.HasSuffix(tab.Note, "; A, seed 0: stopped after 2 rounds") {
		t.Errorf("note of the table: %q", tab.Note)
	}
	thin := seeded(1, ran("A", 0.1, 0.2, 0.3)) // as extracts are
	if thin.Rounds = thin.Rounds[2:]; strings.Contains(Table(long, thin).Note, "rounds") {
		t.Errorf("note of the table: %q", Table(long, thin).Note)
	}
}

// With twelve pairs, the test is Wilcoxon's: of two methods, the first p value is compared with 2.5 %, the second with 5 %.
func TestEffects(t *testing.T) {
	base := []float64{0.5, 0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.64, 0.66, 0.68, 0.7, 0.72}
	ahead, mixed := make([]float64, 12), make([]float64, 12)
	for i, v := range base {
		ahead[i], mixed[i] = v+0.01*float64(i+1), v+0.011*float64(i+1)*math.Pow(-1, float64(i))
	}
	split := func(name string, v []float64) (x, y Panel) {
		return Panel{Name: "x", Runs: method(name, v[:6]...)}, Panel{Name: "y", Runs: method(name, v[6:]...)}
	}
	x, y := split("Base", base)
	for name, v := range map[string][]float64{"Ahead": ahead, "Mixed": mixed} {
		a, b := split(name, v)
		x.Runs, y.Runs = append(x.Runs, a.Runs...), append(y.Runs, b.Runs...)
	}
	e, ranked, err := Effects(Accuracy, "Base", x, y)
	expect.OK(t, err)
	a, m := e[0], e[1]
	if !ranked || a.Method != "Ahead" || a.Pairs != 12 || m.Method != "Mixed" {
		t.Fatalf("%+v", e)
	}
	if p := 2 * math.Pow(2, -12); !close(a.P, 2*p) || m.P < 0.05 || m.Lo > 0 || m.Hi < 0 {
		t.Errorf("%+v", e)
	}
	var d []float64
	for i := range base {
		d = append(d, rounded(ahead[i]-base[i]))
	}
	if at, lo, hi := stats.HodgesLehmann(0.025, d); !near([]float64{a.Estimate, a.Lo, a.Hi}, []float64{at, lo, hi}) || lo <= 0 {
		t.Errorf("%+v, want %v from %v to %v", a, at, lo, hi)
	}
	// Six pairs of one panel cannot do for two methods, and have a t test.
	if e, ranked, err = Effects(Accuracy, "Base", y); err != nil || ranked {
		t.Fatalf("%+v, %v", e, err)
	}
	if mean, half := stats.IntervalAt(0.025, d[6:]); !near([]float64{e[0].Estimate, e[0].Hi}, []float64{mean, mean + half}) {
		t.Errorf("%+v, want %v ± %v", e[0], mean, half)
	}
	for says, panels := range map[string][]Panel{
		"no panel given": nil,
		`panel "z": invalid: baseline = "Base": must be one of "A"`: {x, {"z", method("A", 0.5)}},
		`there are no runs but those of "Base"`:                     {{"z", method("Base", 0.5)}},
		`"Alone" has no run with the seed of one of "Base" and a`:   {y, {"z", append(method("Base", 0.5), seeded(99, ran("Alone", 0.9)))}},
	} {
		if _, _, err := Effects(Accuracy, "Base", panels...); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// After study.Runs.Best, a group has the chosen value in its name, and the baseline is found without it, unless that names several.
func TestBaselineWithoutLabels(t *testing.T) {
	hs := []*history.History{seeded(1, ran("FedAvg, η 0.1", 0.5)), seeded(2, ran("FedAvg, η 0.1", 0.7)), seeded(1, ran("FedProx, η 0.3", 0.6)), seeded(2, ran("FedProx, η 0.3", 0.9))}
	for i, name := range []string{"FedAvg", "FedAvg", "FedProx", "FedProx"} {
		hs[i].Strategy = name
	}
	short, long := Comparison{Baseline: "FedAvg"}.Table(hs...), Comparison{Baseline: "FedAvg, η 0.1"}.Table(hs...)
	expect.OK(t, short.Err())
	expect.That(t, short.String() == long.String() && strings.Contains(short.String(), "minus that of FedAvg, η 0.1"), "%s\n%s", short, long)
	effects, _, err := Effects(Accuracy, "FedAvg", Panel{"", hs})
	expect.That(t, err == nil && len(effects) == 1 && effects[0].Method == "FedProx, η 0.3" && math.Abs(effects[0].Estimate-0.15) < 1e-9, "%+v, error %v", effects, err)
	lead := Lead(Accuracy, "FedProx", "FedAvg", Panel{"", hs})
	expect.That(t, len(lead) == 1 && near(lead[0].Here, []float64{0.1, 0.2}), "lead %+v", lead)
	several := append(hs, ran("FedAvg, η 1", 0.5))
	expect.Invalid(t, `Baseline = "FedAvg": must be one of "FedAvg, η 0.1", "FedProx, η 0.3", "FedAvg, η 1"`)(Comparison{Baseline: "FedAvg"}.Table(several...).Err())
}
