package selection

import (
	"math"
	"slices"
)

// tiny is far more than the rounding error of q·t, and far less than 1/M.
const tiny = 1e-9

// most returns ⌈q·t⌉.
func (s Fair) most(t int) int { return int(math.Ceil(s.Quota*float64(t) - tiny)) }

// spare returns in how many rounds, up to t, each client may still take part.
func (s Fair) spare(t int, took []int) []int {
	spare := make([]int, len(took))
	if s.Quota > 0 {
		for c, k := range took {
			spare[c] = max(0, s.most(t)-k)
		}
	}
	return spare
}

// quotaCapacity says how many clients with at most k rounds to spare may take part in round t, so that all later rounds can
// have n clients below the quota.
//
// Of the h rounds after t, let k be those in which ⌈q·t⌉ does not grow. A client that has s rounds to spare after round t
// must sit out at least k − s of the h. All M clients together sit out (M−n)·h times. So
//
//	Σ_i max(0, k − s_i) ≤ (M−n)·h
//
// for every h is necessary, and by the max-flow min-cut theorem it is sufficient. It is strictest for the first h that has
// k such rounds. The sum grows by one with each client in round t that has at most k to spare.
func (s Fair) quotaCapacity(t, n int, spare []int) *capacity {
	m := len(spare)
	if s.Quota == 0 || n == m { // in the second case q = 1, as Check has seen
		return newCapacity(spare, nil)
	}
	count := make([]int, slices.Max(spare)+1)
	for _, k := range spare {
		count[k]++
	}
	left := make([]int, len(count))
	clients, missing := 0, 0 // the clients with fewer than k to spare, and the sum above
	for k := range left {
		if k > 0 {
			clients += count[k-1]
			missing += clients
			places := float64(m-n) * s.until(t, k, n, m)
			left[k] = int(min(places-float64(missing), float64(m)))
		}
	}
	return newCapacity(spare, left)
}

// until returns the least h for which the h rounds after t have k in which ⌈q·t⌉ does not grow, +Inf if q = 1.
func (s Fair) until(t, k, n, m int) float64 {
	share := max(s.Quota, float64(n)/float64(m)) // Check allows for rounding errors
	return math.Ceil((float64(t-s.most(t)+k)-tiny)/(1-share)) - float64(t)
}
