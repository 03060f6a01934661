package compare

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats/scalar"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/table"
)

// Ledger tests claims against runs: what a source says, the effect measured in one or more settings, and a verdict, which is
// computed. It ends a notebook that compares many methods.
//
//	compare.Ledger{{
//		Claim: "SCAFFOLD is ahead of FedAvg if labels are skewed", Source: "Karimireddy et al. 2020, Table 3",
//		Effect: "SCAFFOLD − FedAvg, accuracy", Unit: "points",
//		In: compare.Lead(compare.Accuracy, "SCAFFOLD", "FedAvg", panels...),
//	}}.Show()
type Ledger []Finding

// Finding is one claim of a ledger.
type Finding struct {
	Claim  string    // "SCAFFOLD is ahead of FedAvg if labels are skewed"
	Source string    // paper and place
	Effect string    // what the differences are: "SCAFFOLD − FedAvg, accuracy"
	Unit   string    // as that of Claim: "points" and "%" of shares in [0, 1], else it follows the numbers: "s", "rounds"
	Least  float64   // the claim is that the effect is above this: default 0; 0.5 as a share for "halves", −0.01 for "not worse by a point"
	In     []Setting // where it was measured
	Cell   string    // heading of the notebook over the runs, "3 · Who wins where", which the table leads to: see Heading
	Remark string    // what else a reader should know
}

// Setting is where a claim was tested.
type Setting struct {
	Name        string    // "label skew"; may be empty if it is the only one
	Differences []float64 // one per seed, positive if it supports the claim: see Lead, Saved, Differences. Values that are not finite are left out
}

// Show shows the ledger as a table.
func (l Ledger) Show() { l.Table().Show() }

// Table returns the ledger as a table, with a line for each setting. The effect is the mean of the differences ± half of its
// 95 % confidence interval (see stats.Interval).
//
// A setting supports its claim if the effect is above Least with p < 0.05, and is against it if it is below with p < 0.05. The p
// values are those of two-sided paired t tests (see stats.PairedT), after Holm's correction over the settings of the claim: of 20
// claims without an effect, about one gets a verdict by chance. Differences that are all equal have p = 0; fewer than two have no
// test. Verdicts are
//
//	holds                 all settings support the claim
//	holds only with X     some do; others that are against it are named
//	does not hold here    none does, and those that are against it are named
//	not seen here         nothing can be said: more seeds may change that
//	too few runs          no setting has two differences
//
// Errors: an empty ledger, a finding without claim or setting, several settings of which one has no name, a Least that is not finite.
func (l Ledger) Table() *table.Table {
	return table.Make("compare: ledger", func(t *table.Table) error {
		if len(l) == 0 {
			return errors.New("no claim")
		}
		for _, f := range l {
			if err := f.check(); err != nil {
				return err
			}
		}
		l.fill(t, l.judge())
		return nil
	})
}

func (f *Finding) check() error {
	noName := func(s Setting) bool { return s.Name == "" }
	switch {
	case f.Claim == "":
		return fault.Invalid("Claim", `""`, "what the source says")
	case len(f.In) == 0:
		return fmt.Errorf("claim %q: %w", f.Claim, fault.Invalid("In", "empty", "at least one setting"))
	case len(f.In) > 1 && slices.ContainsFunc(f.In, noName):
		return fmt.Errorf("claim %q: %w", f.Claim, fault.Invalid("Setting.Name", `""`, "set, as there are several"))
	case !finite(f.Least):
		return fmt.Errorf("claim %q: %w", f.Claim, fault.Invalid("Least", f.Least, "finite"))
	}
	return nil
}

// measured is the outcome in one setting.
type measured struct {
	mean, half float64
	n          int     // finite differences
	p, holm    float64 // of the test that the effect is Least; NaN for none
	says       side
}

// side is how a setting relates to a claim.
type side int

const (
	nothing side = iota
	support
	against
	untested
)

// judge tests all settings of all findings.
func (l Ledger) judge() (all [][]measured) {
	for _, f := range l {
		of, p := make([]measured, len(f.In)), make([]float64, len(f.In))
		for i, s := range f.In {
			d := finites(s.Differences)
			of[i].n = len(d)
			of[i].mean, of[i].half = stats.Interval(d)
			p[i] = stats.PairedT(f.above(d))
			of[i].p = p[i]
		}
		for i, holm := range stats.Holm(p) {
			m := &of[i]
			m.holm = holm
			switch {
			case m.n < 2:
				m.says = untested
			case m.holm < 0.05 && m.mean > f.Least:
				m.says = support
			case m.holm < 0.05:
				m.says = against
			}
		}
		all = append(all, of)
	}
	return all
}

// above returns how far differences are above Least.
func (f *Finding) above(d []float64) []float64 {
	return each(d, func(v float64) float64 {
		if scalar.EqualWithinRel(v, f.Least, 1e-12) { // 0.3 − 0.2 is 0.1
			return 0
		}
		return v - f.Least
	})
}

// verdict sums up the settings of a finding.
func (f *Finding) verdict(of []measured) string {
	supports, opposed, untold := f.count(of, support), f.count(of, against), f.count(of, untested)
	opposite := "the opposite"
	if f.Least != 0 {
		opposite = "less than claimed"
	}
	var parts []string
	say := func(words string, which side) { parts = append(parts, words+f.with(of, which)) }
	switch {
	case untold == len(of):
		return "too few runs"
	case supports == len(of):
		return "holds"
	case supports+untold == len(of):
		say("holds", support)
	case supports > 0:
		say("holds only", support)
	case opposed > 0:
		opposite = "does not hold here: " + opposite
	default:
		parts = []string{"not seen here"}
	}
	if opposed > 0 {
		say(opposite, against)
	}
	if untold > 0 {
		say("too few runs", untested)
	}
	return strings.Join(parts, "; ")
}

// with names the settings on a side, unless there is only one.
func (f *Finding) with(of []measured, which side) string {
	var names []string
	for i, m := range of {
		if m.says == which {
			names = append(names, f.In[i].Name)
		}
	}
	if len(of) == 1 {
		return ""
	}
	return " with " + strings.Join(names, ", ")
}

func (f *Finding) count(of []measured, which side) (n int) {
	for _, m := range of {
		if m.says == which {
			n++
		}
	}
	return n
}

// fill writes the table, without columns that no finding fills.
func (l Ledger) fill(t *table.Table, all [][]measured) {
	const see = 8
	head := []string{"claim", "source", "effect", "setting", "here", "n", "p (Holm)", "verdict", "see", "remark"}
	wide := len(head)
	if !slices.ContainsFunc(l, func(f Finding) bool { return f.Remark != "" }) {
		wide = see + 1
		if !slices.ContainsFunc(l, func(f Finding) bool { return f.Cell != "" }) {
			wide = see
		}
	}
	t.Lines, t.Left, t.Tall, t.Links = [][]string{head[:wide]}, []int{1, 2, 3, 7, 8, 9}, []int{0, 1, 2, 7, 8, 9}, map[table.At]string{}
	t.Data = [][]any{{"claim", "source", "effect", "least", "unit", "setting", "here", "here ±", "n", "p", "p (Holm)", "verdict", "cell", "remark"}}
	for k, f := range l {
		verdict, number := f.verdict(all[k]), Claim{Unit: f.Unit}
		if f.Cell != "" {
			t.Links[table.At{Line: len(t.Lines), Column: see}] = "#" + Heading(f.Cell)
		}
		for i, m := range all[k] {
			s := f.In[i]
			line := []string{"", "", "", s.Name, number.signed(m.mean, m.half), s.pairs(m.n), pValue(m.holm).text, "", "", ""}
			if i == 0 {
				line[0], line[1], line[2], line[7], line[8], line[9] = f.Claim, f.Source, f.effect(number), verdict, f.Cell, f.Remark
			}
			t.Lines = append(t.Lines, line[:wide])
			t.Data = append(t.Data, []any{f.Claim, f.Source, f.Effect, f.Least, f.Unit, s.Name, m.mean, m.half, float64(m.n), m.p, m.holm, verdict, f.Cell, f.Remark})
		}
	}
	t.Note = l.note(all)
}

// effect writes what was measured, and Least if it is not 0.
func (f *Finding) effect(number Claim) string {
	if f.Least == 0 {
		return f.Effect
	}
	return strings.TrimPrefix(f.Effect+", above "+number.write(f.Least, math.NaN()), ", ")
}

// pairs writes the number of finite differences, and of all if some are not.
func (s Setting) pairs(n int) string {
	if n < len(s.Differences) {
		return fmt.Sprintf("%d/%d", n, len(s.Differences))
	}
	return fmt.Sprint(n)
}

// note counts the verdicts of each kind, and explains them.
func (l Ledger) note(all [][]measured) string {
	tests, of := 0, map[string]int{}
	for k, f := range l {
		for _, m := range all[k] {
			if finite(m.p) {
				tests++
			}
		}
		of[kind(f.verdict(all[k]))]++
	}
	var counts []string
	for _, k := range kinds {
		if of[k] > 0 {
			counts = append(counts, fmt.Sprintf("%s %d", k, of[k]))
		}
	}
	return fmt.Sprintf("verdicts: %s; here: mean over n pairs of runs with equal seeds ± 95 %% confidence interval, each alone; "+
		"p: paired t test, two-sided, with Holm's correction over the settings of a claim; a setting counts if p < 0.05; %d tests", strings.Join(counts, ", "), tests)
}

// kinds are the beginnings of verdicts; the first is before its own prefix, the second.
var kinds = []string{"holds only", "holds", "does not hold here", "not seen here", "too few runs"}

func kind(verdict string) string {
	return kinds[slices.IndexFunc(kinds, func(k string) bool { return strings.HasPrefix(verdict, k) })]
}

// Heading returns the anchor of a notebook's heading, as JupyterLab and exported pages name it: its words, joined by "-". Words
// with symbols that are not allowed in addresses are left out, as JupyterLab finds no heading with them: give it an anchor, and
// "3 · Who wins where" is found by <a id="3-Who-wins-where"></a> above it.
func Heading(words string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(words), func(w string) bool {
		return (&url.URL{Fragment: w}).EscapedFragment() != w
	}), "-")
}
