package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// Bandwidth chooses the n fastest clients that meet a deadline (after FedCS, T. Nishio and R. Yonetani, arXiv
// 1804.08333). If fewer do, the cohort is smaller. If none does, the fastest client takes part alone. The choice never
// changes. Explore and Fair let others in, even those that are never available.
type Bandwidth struct {
	Seconds  []float64 // by client, time for download, training and upload, ≥ 0; +Inf: never available
	Deadline float64   `range:"(0,inf)" default:"none"` // s per round; stragglers are left out
}

// Check implements fedkit.Checker.
func (s Bandwidth) Check(fed *fedkit.Federation, _ int) error {
	for c, t := range s.Seconds {
		if !(t >= 0) {
			return fedkit.Invalid(fmt.Sprintf("Seconds[%d]", c), t, "a time ≥ 0")
		}
	}
	if len(s.Seconds) > 0 && math.IsInf(slices.Min(s.Seconds), 1) {
		return fedkit.Invalid("Seconds", "+Inf for every client", "finite for at least one")
	}
	if fed != nil && len(s.Seconds) != fed.Size() {
		return fedkit.Invalid("Seconds", fmt.Sprintf("%d times", len(s.Seconds)), fmt.Sprintf("%d, one per client", fed.Size()))
	}
	return nil
}

// Select implements fedkit.Selector.
func (s Bandwidth) Select(r *fedkit.Round, n int) []int {
	order := r.Candidates()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Seconds[a], s.Seconds[b]) })
	fit, deadline := n, cmp.Or(s.Deadline, math.MaxFloat64)
	for fit > 1 && s.Seconds[order[fit-1]] > deadline {
		fit--
	}
	return order[:fit]
}
