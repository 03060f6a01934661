package selection

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
)

// Tempered is a rule with a softmax temperature: Diversity or Hybrid.
type Tempered interface {
	fedkit.Selector
	// At returns the same rule at another temperature.
	At(temperature float64) fedkit.Selector
}

// Annealed is a temperature schedule for a rule: as the temperature falls, clients are chosen more and more by rank. The
// first rounds are nearly uniform if From is a multiple of M; see Diversity. In round t the temperature is
//
//	T_t = T_1 (T_R/T_1)^{(t−1)/(R−1)} for t < R, and T_R from round R on.
type Annealed struct {
	From   float64  `range:"(0,inf)" default:"10"` // T_1, temperature of the first round
	To     float64  `range:"(0,inf)" default:"1"`  // T_R, temperature from round R on
	Rounds int      `range:"[1,inf)" default:"50"` // R, length of the schedule
	Then   Tempered // the rule; default Diversity{}
}

// Temperature returns T_t for round t = 1, 2, …
func (s Annealed) Temperature(t int) float64 {
	s = fedkit.Defaults(s)
	if t >= s.Rounds {
		return s.To
	}
	return s.From * math.Pow(s.To/s.From, float64(t-1)/float64(s.Rounds-1))
}

// Select implements fedkit.Selector.
func (s Annealed) Select(r *fedkit.Round, n int) []int {
	return cmp.Or[Tempered](s.Then, Diversity{}).At(max(s.Temperature(r.T), fedkit.Zero)).Select(r, n)
}
