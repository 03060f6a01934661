package compare

import (
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
	runs, err := Runs(append(slices.Clone(of), base...)...)
	if err != nil {
		return nil
	}
	b, err := CommonBasis(runs)
	if err != nil {
		return nil
	}
	return q.orAccuracy().pairs(&Group{Runs: runs[:len(of)]}, &Group{Runs: runs[len(of):]}, b)
}

// differences returns the columns that compare each group with the baseline.
func (c Comparison) differences(gs []*Group, b Basis) (all []column, err error) {
	base := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == c.Baseline })
	if base < 0 {
		has := each(gs, func(g *Group) string { return g.Name })
		return nil, fault.Invalid("Baseline", fmt.Sprintf("%q", c.Baseline), oneOf(has))
	}
	q := c.By.For(gs[base].Runs...)
	d := each(gs, func(g *Group) []float64 { return q.pairs(g, gs[base], b) })
	d[base] = nil // the baseline is not compared with itself
	t, w := each(d, stats.PairedT), each(d, wilcoxonOfPairs)
	count := func(v []float64) cell { return number(float64(len(v))) }
	over := []string{fmt.Sprintf("difference: %s minus that of %s, over pairs of runs with equal seeds", q.Name, c.Baseline)}
	student, ranks := []string{"t: paired t test, two-sided"}, []string{"Wilcoxon: signed-rank test, two-sided" + distribution(d)}
	holm := "Holm: corrected over all lines"
	add := func(name string, data []string, of []cell, says []string) {
		all = append(all, column{name: name, data: data, of: of, says: says})
	}
	difference := each(d, interval)
	q.fill(difference, true)
	add("difference", []string{"±"}, difference, over)
	add("pairs", nil, each(d, count), over)
	add("p (t)", nil, each(t, pValue), student)
	add("p (t, Holm)", nil, each(stats.Holm(t), pValue), append(student, holm))
	add("p (Wilcoxon)", nil, each(w, pValue), ranks)
	add("p (Wilcoxon, Holm)", nil, each(stats.Holm(w), pValue), append(ranks, holm))
	for _, c := range all {
		c.of[base] = cell{numbers: slices.Repeat([]float64{math.NaN()}, 1+len(c.data))}
	}
	return all, nil
}

// wilcoxonOfPairs is NaN for one pair, whose p value is 1 whatever the difference is.
func wilcoxonOfPairs(d []float64) float64 {
	if len(d) < 2 {
		return math.NaN()
	}
	p, _ := stats.Wilcoxon(d)
	return p
}

// distribution says how Wilcoxon's p values were computed.
func distribution(all [][]float64) string {
	used := map[bool]bool{} // exact or not
	for _, d := range all {
		if _, exact := stats.Wilcoxon(d); len(d) > 1 {
			used[exact] = true
		}
	}
	switch {
	case used[true] && used[false]:
		return " (exact, or normal approximation)"
	case used[true]:
		return " (exact)"
	case used[false]:
		return " (normal approximation)"
	}
	return ""
}

// pairs returns the differences between runs of two groups that have equal seeds and finite values.
func (q Quantity) pairs(g, base *Group, b Basis) []float64 {
	return finites(q.overPairs(g, base, b, func(v, base float64) float64 { return rounded(v - base) }))
}

// overPairs compares the runs of two groups that have equal seeds; each run counts once.
func (q Quantity) overPairs(g, base *Group, b Basis, compare func(v, base float64) float64) (all []float64) {
	used := make([]bool, len(base.Runs))
	for _, r := range g.Runs {
		for i, o := range base.Runs {
			if !used[i] && paired(r, o) {
				used[i] = true
				all = append(all, compare(q.Value(r, b), q.Value(o, b)))
				break
			}
		}
	}
	return all
}

// pValue writes a p value with three digits after the point.
func pValue(p float64) cell {
	switch {
	case math.IsNaN(p):
		return cell{text: "–", numbers: []float64{p}}
	case p < 0.0005: // would be 0.000
		return cell{text: "< 0.001", numbers: []float64{p}}
	}
	return cell{text: fmt.Sprintf("%.3f", p), numbers: []float64{p}}
}
