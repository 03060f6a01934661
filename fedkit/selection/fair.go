package selection

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// Fair bounds how rarely and how often a client takes part under another rule, in synchronous rounds.
//
// Wait: nobody is left out of more than T rounds in a row. This is possible if M ≤ n (T + 1).
//
// Quota: by round t nobody has taken part in more than ⌈q·t⌉ rounds. This is possible if q ≥ n/M.
//
// A run for which a bound is impossible is refused. Otherwise each of them, if it is the only one, holds in every round,
// whatever the rule wants. With both, Quota holds, and a client may sit out longer than T rounds when the quota leaves too few
// places for all that are due. Fair looks ahead: it leaves nothing from which later rounds of n clients would break its bound.
// Clients that have to take part come first, then those the rule wants, then random ones in place of those it may not
// have.
//
// This supposes that the strategy asks for the same n in every round, can choose among all clients and trains exactly whom Fair
// chose. If not, as with devices that are off or late, Fair still chooses nobody who has reached the quota, and makes a round
// smaller if it must, but Wait may not hold. A round in which nobody is below the quota is an error.
type Fair struct {
	Wait  int             `range:"[1,inf)" default:"no bound"` // T, most rounds in a row that a client sits out
	Quota float64         `range:"(0,1]" default:"no bound"`   // q, largest share of the rounds for a client, at least n/M
	Then  fedkit.Selector // the rule; default Random{}
}

// Check implements fedkit.Checker.
func (s Fair) Check(fed *fedkit.Federation, n int) error {
	if fed == nil {
		return nil
	}
	m := fed.Size()
	if least := (m - 1) / n; s.Wait > 0 && s.Wait < least {
		return fedkit.Invalid("Wait", s.Wait, fmt.Sprintf("at least %d if %d of %d clients take part per round", least, n, m))
	}
	if s.Quota > 0 && s.Quota*float64(m) < float64(n)-tiny {
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
	picks := cmp.Or[fedkit.Selector](s.Then, Random{}).Select(r, n)
	wanted := make([]bool, m)
	for _, c := range picks {
		if c < 0 || c >= m || wanted[c] {
			r.Fail(fedkit.Invalid("Fair.Then", picks, fmt.Sprintf("a choice of different clients in [0, %d)", m)))
			return nil
		}
		wanted[c] = true
	}
	others := slices.DeleteFunc(shuffled(r, "fair"), func(c int) bool { return wanted[c] })
	took, waited := make([]int, m), make([]int, m)
	for c := range m {
		last, rounds := r.Last(c)
		took[c], waited[c] = rounds, r.T-1-last.Round
	}
	chosen := s.choose(r.T, n, len(picks), slices.Concat(picks, others), took, waited)
	if len(chosen) == 0 && len(picks) > 0 {
		r.Fail(fedkit.Invalid("Fair.Quota", s.Quota,
			fmt.Sprintf("higher, since nobody may take part in round %d: the strategy trains more clients than it selects", r.T)))
	}
	return chosen
}

// choose returns the clients of round t. The order is of all clients and begins with those that the rule wants; took and
// waited say in how many rounds each client took part, and how many in a row it has sat out since.
//
// The choices that keep both bounds are those that meet two families of conditions. Wait: at least so many of the clients
// that have waited w rounds or more, for every w (see due). Quota: at most so many of those that may take part k times or
// fewer by now, for every k (see quotaRoom). Each family alone is a matroid, so that taking clients in any order while
// there is room ends with n of them. Both at once are no matroid: the due clients are taken first, preferably those with
// much of their quota left, as far as the quota has room. TestFairKeepsBothBounds follows every choice for M ≤ 4, where
// both always hold; from M = 8 on Wait may not.
func (s Fair) choose(t, n, wanted int, order, took, waited []int) []int {
	spare := s.spare(t, took)
	bySpare := slices.Clone(order)
	slices.SortStableFunc(bySpare, func(a, b int) int { return cmp.Compare(spare[b], spare[a]) })
	due := s.due(n, bySpare, waited)
	size := max(wanted, len(due))
	bound := s.quotaRoom(t, n, spare)
	chosen := bound.add(bound.add(nil, due, size), order, size)
	if s.Quota > 0 && len(chosen) < min(n, size) { // only if the strategy asked for other numbers before
		chosen = newRoom(spare, []int{0}).add(chosen, order, min(n, size))
	}
	return chosen
}
