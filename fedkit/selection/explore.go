package selection

import (
	"cmp"

	"fedkit.example/fedkit"
)

// Explore is the flow of seed 004 §1.3 around a rule that goes by the clients' past: the first rounds are random, since
// nothing is known yet; of the later ones each is random with probability ε, so that clients the rule overlooks are
// heard of again; all others are the rule's. A random round has the clients that a run without a Selector would have.
type Explore struct {
	ColdStart int             // random rounds at the start, at least 1; default 2
	Rate      float64         // ε in [0, 1], probability of a random round; default 0.1 (fedkit.Zero for 0)
	Then      fedkit.Selector // the rule; default Hybrid{}
}

func (s Explore) then() fedkit.Selector { return cmp.Or[fedkit.Selector](s.Then, Hybrid{}) }

// Check implements fedkit.Checker.
func (s Explore) Check() error {
	switch {
	case s.ColdStart < 0:
		return fedkit.Invalid("Explore.ColdStart", s.ColdStart, "at least 1, or 0 for the default of 2")
	case !(s.Rate >= 0 && s.Rate <= 1):
		return fedkit.Invalid("Explore.Rate", s.Rate, "in (0, 1], 0 for the default of 0.1, or fedkit.Zero")
	}
	return check(s.Then)
}

// CheckFor implements fedkit.FederationChecker.
func (s Explore) CheckFor(fed *fedkit.Federation) error { return checkFor(s.Then, fed) }

// UsesSimilarity implements fedkit.SimilarityUser.
func (s Explore) UsesSimilarity() bool { return usesSimilarity(s.then()) }

// Select implements fedkit.Selector.
func (s Explore) Select(r *fedkit.Round, n int) []int {
	if r.T <= cmp.Or(s.ColdStart, 2) || r.Rand("explore").Float64() < cmp.Or(s.Rate, 0.1) {
		return Random{}.Select(r, n)
	}
	return s.then().Select(r, n)
}
