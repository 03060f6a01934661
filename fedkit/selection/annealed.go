package selection

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
)

// Tempered is a rule with a softmax temperature: Diversity, Hybrid.
type Tempered interface {
	fedkit.Selector
	// At returns the same rule at another temperature.
	At(temperature float64) fedkit.Selector
}

// Annealed lets the temperature of a rule run from one value to another (seed 004 §10): clients are chosen almost at
// random at first, and ever more by rank. In round t it is
//
//	T_t = T_1 (T_R/T_1)^{(t−1)/(R−1)} for t < R, and T_R from round R on.
type Annealed struct {
	From   float64  // T_1 > 0, finite; default 10
	To     float64  // T_R > 0, finite; default 1
	Rounds int      // R, at least 1; default 50
	Then   Tempered // the rule; default Diversity{}
}

func (s Annealed) then() Tempered { return cmp.Or[Tempered](s.Then, Diversity{}) }

// Check implements fedkit.Checker.
func (s Annealed) Check() error {
	switch {
	case !(s.From >= 0) || math.IsInf(s.From, 0):
		return fedkit.Invalid("Annealed.From", s.From, "a number > 0, or 0 for the default of 10")
	case !(s.To >= 0) || math.IsInf(s.To, 0):
		return fedkit.Invalid("Annealed.To", s.To, "a number > 0, or 0 for the default of 1")
	case s.Rounds < 0:
		return fedkit.Invalid("Annealed.Rounds", s.Rounds, "at least 1, or 0 for the default of 50")
	}
	return check(s.Then)
}

// CheckFor implements fedkit.FederationChecker.
func (s Annealed) CheckFor(fed *fedkit.Federation) error { return checkFor(s.Then, fed) }

// UsesSimilarity implements fedkit.SimilarityUser.
func (s Annealed) UsesSimilarity() bool { return usesSimilarity(s.then()) }

// Temperature returns T_t of round t, from 1.
func (s Annealed) Temperature(t int) float64 {
	from, to, rounds := cmp.Or(s.From, 10), cmp.Or(s.To, 1), cmp.Or(s.Rounds, 50)
	if t >= rounds {
		return to
	}
	return from * math.Pow(to/from, float64(t-1)/float64(rounds-1))
}

// Select implements fedkit.Selector.
func (s Annealed) Select(r *fedkit.Round, n int) []int {
	return s.then().At(s.Temperature(r.T)).Select(r, n)
}
