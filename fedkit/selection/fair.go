package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// Fair bounds how rarely and how often a client takes part under another rule, in synchronous rounds.
//
// Wait: no client sits out more than T rounds in a row. This is feasible if M ≤ n (T + 1).
//
// Quota: by round t no client has taken part in more than ⌈q·t⌉ rounds. This is feasible if q ≥ n/M.
//
// An infeasible bound is an error. A bound that is the only one holds in every round, whatever the rule wants. With both,
// Quota holds, and a client may sit out longer than T rounds when the quota leaves too few places for all that are due.
// Fair looks ahead: its choice keeps the bound feasible for later rounds of n clients. Clients that must take part come
// first, then those the rule wants, then random ones in place of those it may not have.
//
// This assumes that the strategy asks for the same n in every round, can choose among all clients and trains exactly the
// chosen cohort. Otherwise, as with unavailable devices or stragglers, Fair still chooses no client that has reached the
// quota, and shrinks the cohort if it must, but Wait may not hold. A round in which every client has reached the quota is
// an error.
type Fair struct {
	Wait  int             `range:"[1,inf)" default:"no bound"` // T, most rounds in a row that a client sits out
	Quota float64         `range:"(0,1]" default:"no bound"`   // q, maximum participation rate of a client, at least n/M
	Then  fedkit.Selector // the rule; default Random{}
}

// Check implements fedkit.Checker.
func (s Fair) Check(fed *fedkit.Federation, n int) error {
	if fed == nil {
		return nil
	}
	m := fed.Size()
	if least := (m - 1) / max(n, 1); s.Wait > 0 && s.Wait < least {
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

// choose returns the cohort of round t. order has all clients, those that the rule wants first; took is each client's
// number of rounds so far, waited the number in a row that it has sat out.
//
// A cohort keeps both bounds if it meets two families of constraints. Wait: a minimum number of the clients that have
// waited w rounds or more, for every w (see due). Quota: a maximum number of the clients that may take part k times or
// fewer by now, for every k (see quotaCapacity). Each family alone is a matroid, so that a greedy choice in any order ends
// with n clients. Both at once are no matroid: the due clients are taken first, preferably those with much of their quota
// left, as far as the quota allows. TestFairKeepsBothBounds follows every choice for M ≤ 4, where both always hold; from
// M = 8 on Wait may not.
func (s Fair) choose(t, n, wanted int, order, took, waited []int) []int {
	spare := s.spare(t, took)
	bySpare := slices.Clone(order)
	slices.SortStableFunc(bySpare, func(a, b int) int { return cmp.Compare(spare[b], spare[a]) })
	due := s.due(n, bySpare, waited)
	size := max(wanted, len(due))
	bound := s.quotaCapacity(t, n, spare)
	chosen := bound.add(bound.add(nil, due, size), order, size)
	if s.Quota > 0 && len(chosen) < min(n, size) { // only if the strategy asked for other numbers before
		chosen = newCapacity(spare, []int{0}).add(chosen, order, min(n, size))
	}
	return chosen
}

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

// due returns the clients that must take part now, so that with n clients per round no client ever waits longer than T:
// for every h, at most n·h of the others must take part in the next h rounds. They are as few as possible, and come from
// the front of the order as far as possible.
func (s Fair) due(n int, order, waited []int) []int {
	if s.Wait == 0 {
		return nil
	}
	longest := slices.Max(waited)
	count := make([]int, longest+1)
	for _, w := range waited {
		count[w]++
	}
	least, size, clients := make([]int, longest+1), 0, 0 // least[w] of those that have waited w rounds or more
	for w := longest; w >= 0; w-- {
		clients += count[w]
		if h := max(0, s.Wait-w); h < len(order) { // n·h cannot overflow
			least[w] = min(n, max(0, clients-n*h))
		}
		size = max(size, least[w])
	}
	most := make([]int, longest) // of those that have waited w rounds or fewer
	for w := range most {
		most[w] = size - least[w+1]
	}
	return newCapacity(waited, most).add(nil, order, size)
}

// capacity is that of a cohort: it may take left[k] more clients whose key is k or less. A key beyond the last k is
// unbounded.
type capacity struct {
	key, left []int
	full      int // the largest k without capacity, −1 if none
}

func newCapacity(key, left []int) *capacity {
	r := &capacity{key: key, left: left, full: len(left) - 1}
	for r.full >= 0 && left[r.full] > 0 {
		r.full--
	}
	return r
}

// add appends clients in this order, as far as there is capacity, until there are size of them.
func (r *capacity) add(chosen, order []int, size int) []int {
	in := make(map[int]bool, size)
	for _, c := range chosen {
		in[c] = true
	}
	for _, c := range order {
		if len(chosen) >= size {
			break
		}
		if in[c] || r.key[c] <= r.full {
			continue
		}
		chosen, in[c] = append(chosen, c), true
		for k := r.key[c]; k < len(r.left); k++ {
			if r.left[k]--; r.left[k] <= 0 {
				r.full = max(r.full, k)
			}
		}
	}
	return chosen
}
