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

// Claims tests what sources say against runs: the number or the effect that they claim, what came out here in one or more settings,
// and a verdict, which is computed. It ends a notebook.
//
//	compare.Claims{{
//		What: "rounds to 99 %, E = 5, IID", Source: "McMahan et al. 2017, Table 2", Says: compare.Reported(20),
//		Here: compare.RoundsTo(0.99).Of(hs...), Why: "no hyperparameter search",
//	}, {
//		What: "SCAFFOLD is ahead of FedAvg if labels are skewed", Source: "Karimireddy et al. 2020, Table 3", Unit: "points",
//		In: compare.Lead(compare.Accuracy, "SCAFFOLD", "FedAvg", panels...),
//	}}.Show()
type Claims []Claim

// Claim is one of them.
type Claim struct {
	What   string    // "SCAFFOLD is ahead of FedAvg if labels are skewed", "rounds to 99 %, E = 5, IID"
	Source string    // paper and place: "McMahan et al. 2017, Table 1"
	Effect string    // what the numbers are, if What does not say: "SCAFFOLD − FedAvg, accuracy"
	Unit   string    // "%": shares in [0, 1], whose gap is in points; "points": differences of such; else it follows the numbers: "s", "rounds"
	Says   Bound     // what the source says of the number; default Above(0)
	Here   []float64 // one number, or one per seed; values that are not finite are left out
	In     []Setting // several settings, in place of Here: see Lead

	// Within is for numbers without noise, of which one suffices: no test is made, and a Reported one is met within this share of it.
	Within float64

	Cell string // heading of the notebook over the runs, "3 · Who wins where", which the table leads to: see Heading
	Why  string // what a gap comes from, and what else a reader should know
}

// Setting is where a claim was tested.
type Setting struct {
	Name string    // "label skew"; may be empty if it is the only one
	Here []float64 // one per seed: see Claim.Here, Lead, Saved, Differences
}

// Bound is what a source says of a number. The zero value is Above(0).
type Bound struct {
	value float64
	kind  int
}

const (
	above = iota
	below
	reported
)

// Above is a number larger than v: Above(0.5) for "halves", Above(−0.01) for "not worse by a point".
func Above(v float64) Bound { return Bound{v, above} }

// Below is a number smaller than v.
func Below(v float64) Bound { return Bound{v, below} }

// Reported is the number v.
func Reported(v float64) Bound { return Bound{v, reported} }

// Show shows two tables: the numbers that are reproduced, which are those that a source reports, and the claims that are tested. If
// there are only ones or only others, there is one table.
func (c Claims) Show() {
	numbers, tested := c.split()
	if numbers != nil {
		numbers.Table().Show()
	}
	if tested != nil || numbers == nil { // no claim at all is an error, which the table says
		tested.Table().Show()
	}
}

// split tells the numbers that are reproduced from the claims that are tested.
func (c Claims) split() (numbers, tested Claims) {
	for _, l := range c {
		if l.Says.kind == reported {
			numbers = append(numbers, l)
		} else {
			tested = append(tested, l)
		}
	}
	return numbers, tested
}

// Table returns the claims as one table, with a line for each setting, and without columns that no claim fills. What is here is the mean
// over seeds ± half of its 95 % confidence interval (see stats.Interval); the gap is that mean minus what is reported.
//
// A setting supports a bound if its number is beyond it with p < 0.05, and is against it if it is on the other side with p < 0.05. The
// p values are those of two-sided t tests (see stats.PairedT), after Holm's correction over the settings of the claim: of 20
// claims without an effect, about one gets a verdict by chance. Numbers that are all equal have p = 0; fewer than two have no
// test. Verdicts are
//
//	holds                 all settings support the claim
//	holds only with X     some do; others that are against it are named
//	does not hold here    none does, and those that are against it are named
//	not seen here         nothing can be said: more seeds may change that
//	as reported           the number does not differ from what is reported
//	more than reported, less than reported
//	too few runs          no setting has two numbers
//
// Errors: no claim, one without What, with both Here and In or an empty In, several settings of which one has no name, a bound that is
// not finite.
func (c Claims) Table() *table.Table {
	return table.Make("compare: claims", func(t *table.Table) error {
		if len(c) == 0 {
			return errors.New("no claim")
		}
		for i := range c {
			if err := c[i].check(); err != nil {
				return err
			}
		}
		c.fill(t)
		return nil
	})
}

func (c *Claim) check() error {
	var err error
	switch {
	case c.What == "":
		return fault.Invalid("What", `""`, "what the source says")
	case c.In != nil && c.Here != nil:
		err = fault.Invalid("Here", fmt.Sprint(c.Here), "empty, as there is In")
	case c.In != nil && len(c.In) == 0:
		err = fault.Invalid("In", "empty", "at least one setting")
	case len(c.In) > 1 && slices.ContainsFunc(c.In, func(s Setting) bool { return s.Name == "" }):
		err = fault.Invalid("Setting.Name", `""`, "set, as there are several")
	case !finite(c.Says.value):
		err = fault.Invalid("Says", c.Says.value, "finite")
	}
	if err != nil {
		return fmt.Errorf("claim %q: %w", c.What, err)
	}
	return nil
}

// measured is the outcome in one setting.
type measured struct {
	Setting
	mean, half float64
	n          int     // finite numbers
	p, holm    float64 // of the test that the number is that of the bound; NaN for none
	says       side
}

// side is how a setting relates to a claim.
type side int

const (
	nothing side = iota
	support
	more
	less
	untested
)

// judge tests all settings of a claim.
func (c *Claim) judge() []measured {
	in := c.In
	if in == nil {
		in = []Setting{{Here: c.Here}}
	}
	of := each(in, func(s Setting) measured {
		m, v := measured{Setting: s, p: math.NaN()}, finites(s.Here)
		m.n = len(v)
		m.mean, m.half = stats.Interval(v)
		if c.Within == 0 {
			m.p = stats.PairedT(c.beyond(v))
		}
		return m
	})
	holm := stats.Holm(each(of, func(m measured) float64 { return m.p }))
	for i := range of {
		of[i].holm = holm[i]
		of[i].says = c.side(&of[i])
	}
	return of
}

// side tells a number that differs from the bound, by the test or if it is exact, from one of which nothing can be said.
func (c *Claim) side(m *measured) side {
	gap, kind := m.mean-c.Says.value, c.Says.kind
	differs := m.holm < 0.05
	if c.Within > 0 {
		differs = gap != 0 && !(kind == reported && math.Abs(gap) <= c.Within*math.Abs(c.Says.value))
	}
	switch {
	case m.n == 0 || m.n < 2 && c.Within == 0:
		return untested
	case !differs && kind == reported, differs && kind == above && gap > 0, differs && kind == below && gap < 0:
		return support
	case differs && gap > 0:
		return more
	case differs:
		return less
	}
	return nothing
}

// beyond returns how far numbers are above the bound.
func (c *Claim) beyond(v []float64) []float64 {
	return each(v, func(v float64) float64 {
		if scalar.EqualWithinRel(v, c.Says.value, 1e-12) { // 0.3 − 0.2 is 0.1
			return 0
		}
		return v - c.Says.value
	})
}

// verdict sums up the settings of a claim.
func (c *Claim) verdict(of []measured) string {
	on := map[side][]string{} // names of settings
	for _, m := range of {
		on[m.says] = append(on[m.says], m.Name)
	}
	opposite, supports := "the opposite", len(on[support])
	if c.Says.value != 0 {
		opposite = []string{above: "less", below: "more", reported: ""}[c.Says.kind] + " than claimed"
	}
	if supports == 0 {
		opposite = "does not hold here: " + opposite
	}
	words := map[side]string{support: "holds", more: opposite, less: opposite, untested: "too few runs"}
	var parts []string
	switch {
	case c.Says.kind == reported:
		words[support], words[more], words[less] = "as reported", "more than reported", "less than reported"
	case supports > 0 && supports+len(on[untested]) < len(of):
		words[support] = "holds only"
	case len(on[nothing]) > 0 && len(on[nothing])+len(on[untested]) == len(of):
		parts = []string{"not seen here"}
	}
	for _, s := range []side{support, more, less, untested} {
		switch all := len(on[s]) == len(of); {
		case on[s] == nil:
		case len(of) == 1, all && s == support, all && s == untested:
			parts = append(parts, words[s])
		default:
			parts = append(parts, words[s]+" with "+strings.Join(on[s], ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// fill writes the table.
func (c Claims) fill(t *table.Table) {
	what, says := "claim", "claimed"
	switch numbers, tested := c.split(); {
	case tested == nil:
		what, says = "reproduced number", "reported"
	case numbers == nil:
		what = "tested claim"
	}
	t.Lines = [][]string{{what, "source", "effect", "setting", says, "here", "gap", "n", "p (Holm)", "verdict", "see", "why"}}
	t.Data = [][]any{{"claim", "source", "effect", "bound", "claimed", "unit", "setting", "here", "here ±", "gap", "n", "p", "p (Holm)", "verdict", "cell", "why"}}
	links, signs, tests, verdicts, interval := map[int]string{}, map[int]table.Verdict{}, 0, map[string]int{}, ""
	for _, l := range c {
		of, bound := l.judge(), []string{above: "above", below: "below", reported: "reported"}[l.Says.kind]
		verdict := l.verdict(of)
		verdicts[kind(verdict)]++
		signs[len(t.Lines)] = sign(kind(verdict))
		if l.Cell != "" {
			links[len(t.Lines)] = "#" + Heading(l.Cell)
		}
		for i, m := range of {
			here, gap, p := l.write(&m)
			if finite(m.p) {
				tests++
			}
			if strings.Contains(here, "±") {
				interval = ", ± 95 % confidence interval, each alone"
			}
			line := []string{"", "", "", m.Name, "", here, gap, m.count(), p, "", "", ""}
			if i == 0 {
				line[0], line[1], line[2], line[4], line[9], line[10], line[11] = l.What, l.Source, l.Effect, l.bound(), verdict, l.Cell, l.Why
			}
			t.Lines = append(t.Lines, line)
			t.Data = append(t.Data, []any{l.What, l.Source, l.Effect, bound, l.Says.value, l.Unit, m.Name, m.mean, m.half, m.mean - l.Says.value,
				float64(m.n), m.p, m.holm, verdict, l.Cell, l.Why})
		}
	}
	t.Note = note(verdicts, tests, interval)
	prune(t, []string{"source", "effect", "setting", "verdict", "see", "why"}, []string{what, "source", "effect", says, "verdict", "see", "why"})
	for line, sign := range signs {
		t.Verdicts[table.At{Line: line, Column: slices.Index(t.Lines[0], "verdict")}] = sign
	}
	for line, to := range links {
		t.Links[table.At{Line: line, Column: slices.Index(t.Lines[0], "see")}] = to
	}
}

// write writes what came out in a setting.
func (c *Claim) write(m *measured) (here, gap, p string) {
	u := unitNumber(c.Unit)
	here = u.write(m.mean, m.half)
	switch {
	case c.Says.kind == reported:
		gap = u.gap(m.mean - c.Says.value)
	case c.Says.value == 0:
		here = u.signed(m.mean, m.half)
	}
	if c.Within == 0 {
		p = pValue(m.holm).text
	}
	return here, gap, p
}

// bound writes what is claimed: "20 rounds", "> 50.0 %".
func (c *Claim) bound() string {
	u := unitNumber(c.Unit)
	if c.Says.value == 0 && c.Says.kind != reported {
		u = ""
	}
	return []string{above: "> ", below: "< ", reported: ""}[c.Says.kind] + u.write(c.Says.value, math.NaN())
}

// prune leaves out empty columns, and finds those that are set to the left, and those whose cells span the lines below.
func prune(t *table.Table, left, tall []string) {
	for k := len(t.Lines[0]) - 1; k >= 0; k-- {
		if !slices.ContainsFunc(t.Lines[1:], func(line []string) bool { return line[k] != "" }) {
			for i := range t.Lines {
				t.Lines[i] = slices.Delete(t.Lines[i], k, k+1)
			}
		}
	}
	t.Links, t.Verdicts = map[table.At]string{}, map[table.At]table.Verdict{}
	for k, head := range t.Lines[0] {
		if slices.Contains(left, head) {
			t.Left = append(t.Left, k)
		}
		if slices.Contains(tall, head) {
			t.Tall = append(t.Tall, k)
		}
	}
}

// count writes the number of finite numbers, and of all if some are not.
func (m *measured) count() string {
	if m.n < len(m.Here) {
		return fmt.Sprintf("%d/%d", m.n, len(m.Here))
	}
	return fmt.Sprint(m.n)
}

// note counts the verdicts of each kind, and explains them.
func note(verdicts map[string]int, tests int, interval string) string {
	var counts []string
	for _, k := range kinds {
		if verdicts[k] > 0 {
			counts = append(counts, fmt.Sprintf("%s %d", k, verdicts[k]))
		}
	}
	says := fmt.Sprintf("verdicts: %s; here: mean over n runs, or pairs of runs with equal seeds%s", strings.Join(counts, ", "), interval)
	if tests > 0 {
		says += fmt.Sprintf("; p: t test against what is claimed, two-sided, with Holm's correction over the settings of a claim; a setting counts if p < 0.05; tests: %d", tests)
	}
	return says
}

// kinds are the beginnings of verdicts; the first is before its own prefix, the second.
var kinds = []string{"holds only", "holds", "does not hold here", "not seen here", "as reported", "more than reported", "less than reported", "too few runs"}

func kind(verdict string) string {
	return kinds[slices.IndexFunc(kinds, func(k string) bool { return strings.HasPrefix(verdict, k) })]
}

// sign is that of a kind of verdict.
func sign(kind string) table.Verdict {
	switch kind {
	case "holds", "as reported":
		return table.Holds
	case "holds only", "not seen here", "too few runs":
		return table.Open
	}
	return table.Fails
}

// Heading returns the anchor of a notebook's heading, as JupyterLab and exported pages name it: its words, joined by "-". Words
// with symbols that are not allowed in addresses are left out, as JupyterLab finds no heading with them: give it an anchor, and
// "3 · Who wins where" is found by <a id="3-Who-wins-where"></a> above it.
func Heading(words string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(words), func(w string) bool {
		return (&url.URL{Fragment: w}).EscapedFragment() != w
	}), "-")
}
