package strategy

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
)

// Staleness says how much a result counts that is a rounds old when it arrives: s(a), 1 for a new one.
type Staleness interface {
	Weight(age int) float64 // s(a), a ≥ 0
}

// Even lets old results count as much as new ones: s(a) = 1.
type Even struct{}

// Weight implements Staleness.
func (Even) Weight(int) float64 { return 1 }

// Poly is s(a) = (1 + a)^−A (Xie et al., arXiv 1903.03934, section 5.2). With A = ½ it is FedBuff's 1/√(1 + a).
type Poly struct {
	A float64 `range:"(0,inf)" default:"0.5"` // how fast weights fall with the age
}

// Weight implements Staleness.
func (p Poly) Weight(age int) float64 { return math.Pow(1+float64(age), -cmp.Or(p.A, 0.5)) }

// Hinge is s(a) = 1 up to an age of B, and 1/(A (a − B) + 1) beyond (Xie et al., likewise).
type Hinge struct {
	A float64 `range:"(0,inf)" default:"10"` // how fast weights fall beyond B
	B int     `range:"[1,inf)" default:"4"`  // rounds of age that cost nothing
}

// Weight implements Staleness.
func (h Hinge) Weight(age int) float64 {
	if over := age - cmp.Or(h.B, 4); over > 0 {
		return 1 / (cmp.Or(h.A, 10)*float64(over) + 1)
	}
	return 1
}

// weights returns s(a_i) times a factor.
func weights(s Staleness, u *fedkit.Updates, factor float64) []float64 {
	w := make([]float64, len(u.Solves))
	for i, solve := range u.Solves {
		w[i] = factor * s.Weight(solve.Staleness)
	}
	return w
}
