package selection

import (
	"cmp"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// Hybrid mixes clients that differ a lot from the global model with clients that differ little. Ranked as in Diversity,
// they are split at the median: ⌊ρ·n⌋ of the round's n clients come from the high half and the rest from the low half;
// gaps are filled at random. If fewer than n clients have taken part so far, all of these are chosen, plus random others.
//
// Each half is drawn from as in Diversity: the highest ranks of the high half and the lowest of the low half are the
// likeliest. Temperature = +Inf draws uniformly.
//
// AsPublished follows the published code of SmartFedProx: T is +Inf unless it is given, max(1, ⌊ρ·n⌋) clients come from the
// high half, and those that never took part wait for a random round, such as Explore's.
type Hybrid struct {
	HighRatio   float64 `range:"[0,1]" default:"0.5"` // ρ, share from the high half
	Temperature float64 `range:"[0,inf]" default:"1"` // T, of the softmax over ranks; fedkit.Zero: the top ranks alone; +Inf: uniform
	By          By      // statistic to rank by; default Drift
	AsPublished bool    // draw as the published code does
}

// At implements Tempered.
func (s Hybrid) At(temperature float64) fedkit.Selector {
	s.Temperature = temperature
	return s
}

// Select implements fedkit.Selector.
func (s Hybrid) Select(r *fedkit.Round, n int) []int {
	if s.AsPublished {
		s.Temperature = cmp.Or(s.Temperature, math.Inf(1))
	}
	s = fedkit.Defaults(s)
	ranked := s.By.rank(r, n)
	if s.AsPublished {
		ranked = slices.DeleteFunc(ranked, func(c int) bool { _, rounds := r.Last(c); return rounds == 0 })
	}
	if len(ranked) <= n {
		return fill(r, ranked, n)
	}
	half := len(ranked) / 2
	high, low := ranked[:half], ranked[half:]
	slices.Reverse(low)
	k := int(s.HighRatio*float64(n) + 1e-9) // 0.29 · 100 is a little less than 29
	if s.AsPublished {
		k = max(1, k)
	}
	rng := r.Rand("hybrid")
	chosen := append(softmax(high, k, s.Temperature, rng), softmax(low, n-k, s.Temperature, rng)...)
	if s.AsPublished {
		rest := slices.DeleteFunc(ranked, func(c int) bool { return slices.Contains(chosen, c) })
		chosen = append(chosen, softmax(rest, n-len(chosen), math.Inf(1), rng)...)
	}
	return fill(r, chosen, n)
}
