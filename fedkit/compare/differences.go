package compare

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// differences are the columns that compare each group with the baseline, and what they mean.
func (c Comparison) differences(gs []*Group, b Basis) (all []column, notes []string, err error) {
	base := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == c.Baseline })
	if base < 0 {
		has := each(gs, func(g *Group) string { return g.Name })
		return nil, nil, fedkit.Invalid("Baseline", fmt.Sprintf("%q", c.Baseline), oneOf(has))
	}
	q := c.By.orAccuracy()
	var d [][]float64
	var t, w []float64
	exact, normal := false, false
	for i, g := range gs {
		v := q.pairs(g, gs[base], b)
		if i == base {
			v = nil
		}
		p, isExact := Wilcoxon(v)
		if len(v) < 2 { // 1, whatever the difference is
			p = math.NaN()
		}
		exact, normal = exact || isExact && !math.IsNaN(p), normal || !isExact
		d, t, w = append(d, v), append(t, PairedT(v)), append(w, p)
	}
	mean := column{"difference", []string{"±"}, each(d, q.signed)}
	count := column{name: "pairs", of: each(d, func(v []float64) cell { return number(float64(len(v))) })}
	of := func(name string, p []float64) column { return column{name: name, of: each(p, pValue)} }
	all = []column{mean, count, of("p (t)", t), of("p (t, Holm)", Holm(t)), of("p (Wilcoxon)", w), of("p (Wilcoxon, Holm)", Holm(w))}
	for _, c := range all { // the baseline is not compared with itself
		c.of[base] = cell{"", slices.Repeat([]float64{math.NaN()}, 1+len(c.data))}
	}
	notes = []string{fmt.Sprintf("difference: %s less that of %s, over pairs of runs with equal seeds", q.Name, c.Baseline),
		"p: two-sided, paired t test and Wilcoxon's signed-rank test" + distribution(exact, normal) + ", Holm: corrected over all lines"}
	return all, notes, nil
}

// distribution says what Wilcoxon's p values come from.
func distribution(exact, normal bool) string {
	switch {
	case exact && normal:
		return " (exact, or normal approximation)"
	case exact:
		return " (exact)"
	case normal:
		return " (normal approximation)"
	}
	return ""
}

// pairs returns the differences between runs of two groups that have equal seeds; each run counts once.
func (q Quantity) pairs(g, base *Group, b Basis) (d []float64) {
	used := make([]bool, len(base.Runs))
	for _, r := range g.Runs {
		for i, o := range base.Runs {
			if used[i] || !paired(r, o) {
				continue
			}
			used[i] = true
			if v := q.Value(r, b) - q.Value(o, b); finite(v) {
				d = append(d, v)
			}
			break
		}
	}
	return d
}

// signed writes differences as their mean, with its sign, and its interval.
func (q Quantity) signed(v []float64) cell {
	unsigned := q
	unsigned.Format = func(v float64) string { return q.write(math.Abs(v)) } // units are chosen by size
	c := unsigned.interval(v)
	switch mean := c.numbers[0]; {
	case mean > 0:
		c.text = "+" + c.text
	case mean < 0:
		c.text = "−" + c.text
	}
	return c
}

// pValue writes a p value with three digits after the point.
func pValue(p float64) cell {
	switch {
	case math.IsNaN(p):
		return cell{"–", []float64{p}}
	case p < 0.0005: // would be 0.000
		return cell{"< 0.001", []float64{p}}
	}
	return cell{fmt.Sprintf("%.3f", p), []float64{p}}
}
