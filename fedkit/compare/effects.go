package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/stats"
)

// Effect is by how much a method differs from a baseline.
type Effect struct {
	Method   string  // name of its group of runs
	Pairs    int     // of runs with equal seeds, in all panels
	Estimate float64 // of the difference: the method's minus the baseline's
	Lo, Hi   float64 // its interval, corrected for the number of methods
	P        float64 // of the test that nothing differs, corrected by Holm
}

// EffectSizes are those of several methods.
type EffectSizes struct {
	Effects []Effect // the best first
	Without []string // methods without a pair
	Ranked  bool     // by Wilcoxon's signed-rank test, else by the paired t test
}

// Effects returns by how much every group of runs differs from a baseline, over all pairs of runs with equal seeds in all panels, each
// of which is one difference (see Differences). Which other methods there are decides only how strict the correction is, while mean
// ranks depend on all of them (Benavoli et al. 2016).
//
// The test is Wilcoxon's, with the Hodges–Lehmann estimate and its interval, if it can reject at all: if 2·2⁻ⁿ·m ≤ 5 % for m
// methods with at least n pairs. Otherwise, with five seeds of one problem, say, it is the paired t test, with the mean. P values are
// corrected by Holm, and so are the intervals: in ascending order of p, the i-th is of level 1 − 5 %/(m−i+1), up to the first that
// is not significant, whose level all others have. So an interval without 0 is a p value below 5 %, but for ties.
//
// Errors: no panel, those of Table for the runs of a panel, no group called baseline, no pair with two finite values.
func Effects(q Quantity, baseline string, panels ...Panel) (*EffectSizes, error) {
	q = q.orAccuracy()
	names, differences, err := q.fromBaseline(baseline, panels)
	if err != nil {
		return nil, err
	}
	e, fewest, order := &EffectSizes{}, math.MaxInt, []int(nil)
	for i, d := range differences {
		if len(d) == 0 {
			e.Without = append(e.Without, names[i])
			continue
		}
		order, fewest = append(order, i), min(fewest, len(d))
	}
	m := len(order)
	if m == 0 {
		return nil, fmt.Errorf("no other run has the seed of one of %q and a finite %s, as it has", baseline, q.Name)
	}
	e.Ranked = math.Pow(2, float64(1-fewest))*float64(m) <= 0.05
	p := each(differences, e.test)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected, alpha, open := stats.Holm(each(order, func(i int) float64 { return p[i] })), 0., true
	for i, k := range order {
		if open {
			alpha = 0.05 / float64(m-i)
		}
		open = open && p[k] <= alpha
		f := Effect{Method: names[k], Pairs: len(differences[k]), P: corrected[i]}
		f.Estimate, f.Lo, f.Hi = e.interval(alpha, differences[k])
		e.Effects = append(e.Effects, f)
	}
	slices.SortStableFunc(e.Effects, func(a, b Effect) int {
		if q.LowerIsBetter {
			a, b = b, a
		}
		return cmp.Compare(b.Estimate, a.Estimate)
	})
	return e, nil
}

// test returns the p value of the chosen test: 1 if it cannot be made, because nothing differs or there is one pair.
func (e *EffectSizes) test(d []float64) float64 {
	p := stats.PairedT(d)
	if e.Ranked {
		p, _ = stats.Wilcoxon(d)
	}
	if math.IsNaN(p) {
		return 1
	}
	return p
}

func (e *EffectSizes) interval(alpha float64, d []float64) (estimate, lo, hi float64) {
	if e.Ranked {
		return stats.HodgesLehmann(alpha, d)
	}
	mean, half := stats.IntervalAt(alpha, d)
	return mean, mean - half, mean + half
}

// fromBaseline returns the other groups of all panels, and their differences from the baseline.
func (q Quantity) fromBaseline(baseline string, panels []Panel) (names []string, differences [][]float64, err error) {
	groups, _, b, err := groupPanels(panels)
	if err != nil {
		return nil, nil, err
	}
	for i, gs := range groups {
		base := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == baseline })
		if base < 0 {
			has := each(gs, func(g *Group) string { return g.Name })
			return nil, nil, fmt.Errorf("panel %q: %w", panels[i].Name, fault.Invalid("baseline", fmt.Sprintf("%q", baseline), oneOf(has)))
		}
		for k, g := range gs {
			d := q.pairs(g, gs[base], b)
			if k == base {
				continue
			}
			at := slices.Index(names, g.Name)
			if at < 0 {
				at, names, differences = len(names), append(names, g.Name), append(differences, nil)
			}
			differences[at] = append(differences[at], d...)
		}
	}
	return names, differences, nil
}
