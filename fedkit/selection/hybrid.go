package selection

import (
	"slices"

	"fedkit.example/fedkit"
)

// Hybrid mixes clients that differ a lot from the global model with clients that differ little. Ranked as in Diversity,
// they are split at the median: ⌊ρ·n⌋ of the round's n clients come from the high half and the rest from the low half;
// gaps are filled at random. If fewer than n clients have taken part so far, all of these are chosen, plus random others.
//
// Each half is drawn from as in Diversity: the highest ranks of the high half and the lowest of the low half are the
// likeliest. Temperature = +Inf draws uniformly.
type Hybrid struct {
	HighRatio   float64 `range:"[0,1]" default:"0.5"` // ρ, share from the high half
	Temperature float64 `range:"[0,inf]" default:"1"` // T, of the softmax over ranks; fedkit.Zero: the top ranks alone; +Inf: uniform
	By          By      // statistic to rank by; default Drift
}

// At implements Tempered.
func (s Hybrid) At(temperature float64) fedkit.Selector {
	s.Temperature = temperature
	return s
}

// Select implements fedkit.Selector.
func (s Hybrid) Select(r *fedkit.Round, n int) []int {
	s = fedkit.Defaults(s)
	ranked := s.By.rank(r, n)
	if len(ranked) <= n {
		return fill(r, ranked, n)
	}
	half := len(ranked) / 2
	high, low := ranked[:half], ranked[half:]
	slices.Reverse(low)
	k := int(s.HighRatio*float64(n) + 1e-9) // 0.29 · 100 is a little less than 29
	rng := r.Rand("hybrid")
	return fill(r, append(softmax(high, k, s.Temperature, rng), softmax(low, n-k, s.Temperature, rng)...), n)
}
