package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/stats"
)

// Differences returns a quantity of runs minus that of a baseline, over pairs with equal seeds (of the run, and of the
// partition and parts as far as both have them), in the order of the first. Pairs without two finite values are left out. The
// result is nil if the runs cannot be compared.
func Differences(q Quantity, of, base []*history.History) []float64 {
	runs, b, err := compared(Runs, slices.Concat(of, base))
	if err != nil {
		return nil
	}
	return q.pairs(&Group{Runs: runs[:len(of)]}, &Group{Runs: runs[len(of):]}, b)
}

// differences returns the columns that compare each group with the baseline.
func (c Comparison) differences(gs []*Group, b Basis) (all []column, err error) {
	base, err := find(gs, "Baseline", c.Baseline)
	if err != nil {
		return nil, err
	}
	q := c.By.For(gs[base].Runs...)
	d := each(gs, func(g *Group) []float64 { return q.pairs(g, gs[base], b) })
	d[base] = nil // the baseline is not compared with itself
	t := each(d, stats.PairedT)
	w, how := wilcoxon(d)
	over := []string{fmt.Sprintf("difference: %s minus that of %s, over pairs of runs with equal seeds", q.Name, gs[base].Name)}
	student, ranks := []string{"t: paired t test, two-sided"}, []string{"Wilcoxon: signed-rank test, two-sided" + how}
	holm := "Holm: corrected over all lines"
	difference := each(d, interval)
	q.fill(difference, true)
	all = []column{
		{name: "difference", data: []string{"±"}, of: difference, says: over},
		{name: "pairs", of: each(d, func(v []float64) cell { return number(float64(len(v))) }), says: over},
		{name: "p (t)", of: each(t, pValue), says: student},
		{name: "p (t, Holm)", of: each(stats.Holm(t), pValue), says: append(student, holm)},
		{name: "p (Wilcoxon)", of: each(w, pValue), says: ranks},
		{name: "p (Wilcoxon, Holm)", of: each(stats.Holm(w), pValue), says: append(ranks, holm)},
	}
	for _, c := range all {
		c.of[base] = cell{numbers: slices.Repeat([]float64{math.NaN()}, 1+len(c.data))}
	}
	return all, nil
}

// find returns the place of the group that an option names.
func find(gs []*Group, option, name string) (int, error) {
	if i := place(gs, name); i >= 0 {
		return i, nil
	}
	return 0, fault.Invalid(option, fmt.Sprintf("%q", name), oneOf(names(gs)))
}

// wilcoxon returns the p values of each, and says how they were computed. They are NaN for one pair, whose p value is 1 whatever the
// difference is.
func wilcoxon(differences [][]float64) (p []float64, how string) {
	used := map[bool]bool{} // exact or not
	for _, d := range differences {
		v, exact := stats.Wilcoxon(d)
		if len(d) < 2 {
			v = math.NaN()
		} else {
			used[exact] = true
		}
		p = append(p, v)
	}
	switch {
	case used[true] && used[false]:
		how = " (exact, or normal approximation)"
	case used[true]:
		how = " (exact)"
	case used[false]:
		how = " (normal approximation)"
	}
	return p, how
}

// pairs returns the differences between runs of two groups that have equal seeds and finite values.
func (q Quantity) pairs(g, base *Group, b Basis) []float64 {
	return finites(q.overPairs(g, base, b, func(v, base float64) float64 { return rounded(v - base) }))
}

// overPairs compares the runs of two groups that have equal seeds.
func (q Quantity) overPairs(g, base *Group, b Basis, compare func(v, base float64) float64) []float64 {
	return each(matched(g, base), func(pair []*Run) float64 { return compare(q.Value(pair[0], b), q.Value(pair[1], b)) })
}

// matched returns each run of the first group with those of the others that have equal seeds, if there are such; each run counts once.
func matched(gs ...*Group) (all [][]*Run) {
	used := map[*Run]bool{}
	for _, first := range gs[0].Runs {
		block := []*Run{first}
		for _, g := range gs[1:] {
			if i := slices.IndexFunc(g.Runs, func(r *Run) bool { return !used[r] && paired(first, r) }); i >= 0 {
				block = append(block, g.Runs[i])
			}
		}
		if len(block) == len(gs) {
			all = append(all, block)
			for _, r := range block {
				used[r] = true
			}
		}
	}
	return all
}

// pValue writes a p value with three digits after the point.
func pValue(p float64) cell {
	c := cell{text: fmt.Sprintf("%.3f", p), numbers: []float64{p}}
	switch {
	case math.IsNaN(p):
		c.text = "–"
	case p < 0.0005: // would be 0.000
		c.text = "< 0.001"
	}
	return c
}

// Lead returns by how much one group of runs is better than another in each panel, for Claims: the differences of a quantity
// over pairs of runs with equal seeds (see Differences), negated if less is better. Groups have their names in tables (see
// Groups). A pair without two finite values is NaN. A panel without one of the groups, or whose runs cannot be compared, has no
// differences. Without another group, "", the numbers are those of the first, run by run.
//
//	compare.Claim{What: "SCAFFOLD is ahead of FedAvg", Unit: "points", In: compare.Lead(compare.Accuracy, "SCAFFOLD", "FedAvg", panels...)}
func Lead(q Quantity, of, over string, panels ...Panel) []Setting {
	return q.settings(of, over, panels, func(v, base float64) float64 {
		if q.LowerIsBetter {
			v, base = base, v
		}
		return rounded(v - base)
	})
}

// Saved is Lead for a quantity of which less is better, as a share of what the second group needs: 1 − v/v′, so that 0.5 is half
// of it, in the unit "%".
func Saved(q Quantity, of, over string, panels ...Panel) []Setting {
	return q.settings(of, over, panels, func(v, base float64) float64 { return rounded(1 - v/base) })
}

// rounded drops rounding errors, so that 0.3 − 0.2 and 0.2 − 0.1 are a tie.
func rounded(v float64) float64 { return math.Round(1e12*v) / 1e12 }

// settings compares two groups of each panel, pair by pair.
func (q Quantity) settings(of, over string, panels []Panel, compare func(v, base float64) float64) []Setting {
	return each(panels, func(p Panel) Setting {
		s := Setting{Name: p.Name}
		runs, b, err := compared(Runs, p.Runs)
		if err != nil {
			return s
		}
		gs := GroupRuns(runs)
		switch g, base := named(gs, of), named(gs, over); {
		case g != nil && over == "":
			s.Here = q.values(g.Runs, b)
		case g != nil && base != nil:
			s.Here = q.overPairs(g, base, b, compare)
		}
		return s
	})
}

// Effect is by how much a method differs from a baseline.
type Effect struct {
	Method   string  // name of its group of runs
	Pairs    int     // of runs with equal seeds, in all panels
	Estimate float64 // of the difference: the method's minus the baseline's
	Lo, Hi   float64 // its interval, corrected for the number of methods
	P        float64 // of the test that nothing differs, corrected by Holm

	differences []float64
}

// Effects returns by how much every group of runs differs from a baseline, the best first, over all pairs of runs with equal seeds in
// all panels, each of which is one difference (see Differences). Which other methods there are decides only how strict the correction
// is, while mean ranks depend on all of them (Benavoli et al. 2016).
//
// The test is Wilcoxon's signed-rank test, with the Hodges–Lehmann estimate and its interval, if that can reject at all: if 2·2⁻ⁿ·m
// ≤ 5 % for m methods with at least n pairs. Otherwise, with five seeds of one problem, say, ranked is false: it is the paired t test,
// with the mean. P values are corrected by Holm, and so are the intervals: in ascending order of p, the i-th is of level
// 1 − 5 %/(m−i+1), up to the first that is not significant, whose level all others have. So an interval without 0 is a p value of at
// most 5 %, but for ties.
//
// Errors: no panel, those of Table for the runs of a panel, no group called baseline, no other group, one without a pair of finite values.
func Effects(q Quantity, baseline string, panels ...Panel) (all []Effect, ranked bool, err error) {
	if all, err = q.fromBaseline(baseline, panels); err != nil {
		return nil, false, err
	}
	ranked = math.Pow(2, float64(1-all[0].Pairs))*float64(len(all)) <= 0.05
	for i := range all {
		all[i].P = all[i].test(ranked)
	}
	slices.SortStableFunc(all, func(a, b Effect) int { return cmp.Compare(a.P, b.P) })
	corrected, alpha, open := stats.Holm(each(all, func(e Effect) float64 { return e.P })), 0., true
	for i := range all {
		e := &all[i]
		if open {
			alpha = 0.05 / float64(len(all)-i)
		}
		open = open && e.P <= alpha
		if e.P = corrected[i]; ranked {
			e.Estimate, e.Lo, e.Hi = stats.HodgesLehmann(alpha, e.differences)
			continue
		}
		mean, half := stats.IntervalAt(alpha, e.differences)
		e.Estimate, e.Lo, e.Hi = mean, mean-half, mean+half
	}
	slices.SortStableFunc(all, func(a, b Effect) int {
		if q.LowerIsBetter {
			a, b = b, a
		}
		return cmp.Compare(b.Estimate, a.Estimate)
	})
	return all, ranked, nil
}

// test returns a p value: 1 if the test cannot be made, because nothing differs or there is one pair.
func (e *Effect) test(ranked bool) float64 {
	p := stats.PairedT(e.differences)
	if ranked {
		p, _ = stats.Wilcoxon(e.differences)
	}
	if math.IsNaN(p) {
		return 1
	}
	return p
}

// fromBaseline returns the differences of the other groups of all panels from the baseline, those with the fewest first.
func (q Quantity) fromBaseline(baseline string, panels []Panel) (all []Effect, err error) {
	groups, runs, b, err := groupPanels(panels)
	if err != nil {
		return nil, err
	}
	q = q.For(runs...)
	for i, gs := range groups {
		base, err := find(gs, "baseline", baseline)
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", panels[i].Name, err)
		}
		for _, g := range slices.Delete(slices.Clone(gs), base, base+1) {
			at := slices.IndexFunc(all, func(e Effect) bool { return e.Method == g.Name })
			if at < 0 {
				at, all = len(all), append(all, Effect{Method: g.Name})
			}
			e := &all[at]
			e.differences = append(e.differences, q.pairs(g, gs[base], b)...)
			e.Pairs = len(e.differences)
		}
	}
	slices.SortStableFunc(all, func(a, b Effect) int { return a.Pairs - b.Pairs })
	switch {
	case all == nil:
		return nil, fmt.Errorf("there are no runs but those of %q", baseline)
	case all[0].Pairs == 0:
		return nil, fmt.Errorf("%q has no run with the seed of one of %q and a finite %s, as that one has", all[0].Method, baseline, q.Name)
	}
	return all, nil
}
