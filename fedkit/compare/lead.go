package compare

import (
	"math"
	"slices"
)

// Lead returns by how much one group of runs is better than another in each panel, for Claims: the differences of a quantity
// over pairs of runs with equal seeds (see Differences), negated if less is better. Groups have their names in tables (see
// Groups). A pair without two finite values is NaN. A panel without one of the groups, or whose runs cannot be compared, has no
// differences. Without another group, "", the numbers are those of the first, run by run.
//
//	compare.Claim{What: "SCAFFOLD is ahead of FedAvg", Unit: "points", In: compare.Lead(compare.Accuracy, "SCAFFOLD", "FedAvg", panels...)}
func Lead(q Quantity, of, over string, panels ...Panel) []Setting {
	q = q.orAccuracy()
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
	return q.orAccuracy().settings(of, over, panels, func(v, base float64) float64 { return rounded(1 - v/base) })
}

// rounded drops rounding errors, so that 0.3 − 0.2 and 0.2 − 0.1 are a tie.
func rounded(v float64) float64 { return math.Round(1e12*v) / 1e12 }

// settings compares two groups of each panel, pair by pair.
func (q Quantity) settings(of, over string, panels []Panel, compare func(v, base float64) float64) []Setting {
	return each(panels, func(p Panel) Setting {
		s := Setting{Name: p.Name}
		runs, err := Runs(p.Runs...)
		if err != nil {
			return s
		}
		b, err := CommonBasis(runs)
		if err != nil {
			return s
		}
		gs := GroupRuns(runs)
		i := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == of })
		k := slices.IndexFunc(gs, func(g *Group) bool { return g.Name == over })
		if i >= 0 && over == "" {
			s.Here = each(gs[i].Runs, func(r *Run) float64 { return q.Value(r, b) })
		}
		if i >= 0 && k >= 0 {
			s.Here = q.overPairs(gs[i], gs[k], b, compare)
		}
		return s
	})
}
