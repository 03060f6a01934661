package selection

import (
	"cmp"

	"fedkit.example/fedkit"
)

// Diversity prefers the clients that differed most from the global model when they last took part (seed 004 §1.4, §1.6).
// The M clients are ranked, and n of them drawn one after the other without replacement, with the probabilities
//
//	P(rank j) ∝ exp((M − j)/T),  j = 0 … M−1,
//
// among those that are left. Ranks, not figures, are compared: T = 1 takes little more than the n top ranks, and T ≥ M
// is close to uniform. Where fewer than n clients have taken part so far, all of these are chosen, and random others.
// Otherwise those that never took part rank highest; the seed does not say, and would not hear of them but by Explore.
type Diversity struct {
	Temperature float64 `range:"(0,inf]" default:"1"` // T; fedkit.Zero for the n top ranks, +Inf for uniform
	By          By      // what ranks; default Drift
}

// At implements Tempered.
func (s Diversity) At(temperature float64) fedkit.Selector {
	s.Temperature = temperature
	return s
}

// Select implements fedkit.Selector.
func (s Diversity) Select(r *fedkit.Round, n int) []int {
	return fill(r, softmax(s.By.rank(r, n), n, cmp.Or(s.Temperature, 1), r.Rand("diversity")), n)
}
