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
	q = q.orAccuracy()
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
		base := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == baseline })
		if base < 0 {
			has := each(gs, func(g *Group) string { return g.Name })
			return nil, fmt.Errorf("panel %q: %w", panels[i].Name, fault.Invalid("baseline", fmt.Sprintf("%q", baseline), oneOf(has)))
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
