package selection

import (
	"cmp"

	"fedkit.example/fedkit"
)

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
