package selection

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// Fair bounds how rarely and how often a client takes part under another rule.
//
// Wait: nobody is left out of more than T rounds in a row. This is possible if M ≤ n (T + 1), and then kept; otherwise the
// run is refused. Those that have waited longest get places before the rule's own choice, as few and as late as the n
// places of each coming round allow.
//
// Quota: by round t nobody has taken part in more than ⌈q·t⌉ rounds. If the rule wants a client that has reached this, a
// random client below the quota takes its place or, if there is none, the one that took part least. Wait overrides Quota.
type Fair struct {
	Wait  int             `range:"[1,inf)" default:"no bound"` // T, most rounds in a row that a client sits out
	Quota float64         `range:"(0,1]" default:"no bound"`   // q, largest share of the rounds for a client, at least n/M
	Then  fedkit.Selector // the rule; default Random{}
}

// Check implements fedkit.Checker.
func (s Fair) Check(fed *fedkit.Federation, n int) error {
	m := fed.Size()
	if s.Wait > 0 && m > n*(s.Wait+1) {
		return fedkit.Invalid("Wait", s.Wait, fmt.Sprintf("at least %d if %d of %d clients take part per round", (m-1)/n, n, m))
	}
	if s.Quota > 0 && s.Quota*float64(m) < float64(n)-1e-9 {
		return fedkit.Invalid("Quota", s.Quota, fmt.Sprintf("at least %d/%d, the share of clients per round", n, m))
	}
	return nil
}

// Select implements fedkit.Selector.
func (s Fair) Select(r *fedkit.Round, n int) []int {
	m := r.Clients()
	if err := fedkit.Check(s, r.Fed, n); err != nil { // the strategy may ask for a number other than its Fraction implies
		r.Fail(err)
		return nil
	}
	rng := r.Rand("fair")
	due, picks := s.due(r, n, rng), cmp.Or[fedkit.Selector](s.Then, Random{}).Select(r, n)
	quota := math.Inf(1)
	if s.Quota > 0 {
		quota = math.Ceil(s.Quota*float64(r.T) - 1e-9)
	}
	place := func(c int) int {
		times := len(r.Past(c))
		switch {
		case slices.Contains(due, c):
			return -2
		case float64(times) >= quota:
			return times
		case slices.Contains(picks, c):
			return -1
		}
		return 0
	}
	order := rng.Perm(m)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	return order[:max(len(due), len(picks))]
}

// due returns the clients that must take part now, so that with n clients per round nobody ever waits longer than T. They
// are the fewest such that, for every h, at most n·h of the others must take part in the next h rounds.
func (s Fair) due(r *fedkit.Round, n int, rng *rand.Rand) []int {
	if s.Wait == 0 {
		return nil
	}
	left := func(c int) int { // rounds it may still sit out
		last := 0
		if past := r.Past(c); len(past) > 0 {
			last = past[len(past)-1].Round
		}
		return max(0, s.Wait-(r.T-1-last))
	}
	order, must := rng.Perm(r.Clients()), 0
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(left(a), left(b)) })
	for i, c := range order { // i+1 clients need places in this and the next left(c) rounds
		must = max(must, i+1-n*left(c))
	}
	return order[:min(must, n)]
}
