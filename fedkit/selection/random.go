// Package selection has the rules that choose a round's cohort. A rule keeps no state: it relies only on
// what the Round knows about the clients' past, and on its generators, so that a resumed run chooses the same clients.
// Rules that wrap another one (Explore, Fair, Annealed) compose:
//
//	selection.Fair{Wait: 10, Then: selection.Explore{Then: selection.Hybrid{By: selection.Loss}}}
package selection

import (
	"cmp"

	"fedkit.example/fedkit"
)

// Random chooses n clients uniformly without replacement, as a strategy without a Selector does.
type Random struct{}

// Select implements fedkit.Selector.
func (Random) Select(r *fedkit.Round, n int) []int { return shuffled(r, "select")[:n] }

// shuffled returns the available clients in random order.
func shuffled(r *fedkit.Round, purpose string) []int {
	clients := r.Candidates()
	order := r.Rand(purpose).Perm(len(clients))
	for i, at := range order {
		order[i] = clients[at]
	}
	return order
}

// fill adds clients at random until n are chosen.
func fill(r *fedkit.Round, chosen []int, n int) []int {
	in := make([]bool, r.Clients())
	for _, c := range chosen {
		in[c] = true
	}
	for _, c := range shuffled(r, "fill") {
		if len(chosen) >= n {
			break
		}
		if !in[c] {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// Explore makes a rule ε-greedy. The first rounds are random, since nothing is known yet. Each later round is random with
// probability ε, so that clients the rule overlooks are chosen again. A random round has the same cohort as in a run
// without a Selector.
type Explore struct {
	ColdStart int             `range:"[1,inf)" default:"2"` // random rounds at the start
	Rate      float64         `range:"[0,1]" default:"0.1"` // ε, probability of a random round
	Then      fedkit.Selector // the rule; default Hybrid{}
}

// Select implements fedkit.Selector.
func (s Explore) Select(r *fedkit.Round, n int) []int {
	s = fedkit.Defaults(s)
	if r.T <= s.ColdStart || r.Rand("explore").Float64() < s.Rate {
		return Random{}.Select(r, n)
	}
	return cmp.Or[fedkit.Selector](s.Then, Hybrid{}).Select(r, n)
}
