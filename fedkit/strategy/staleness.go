package strategy

import (
	"math"

	"fedkit.example/fedkit"
)

// Staleness is the weight s(a) of a result with staleness a, in rounds; s(0) = 1.
type Staleness interface {
	Weight(a int) float64 // s(a), a ≥ 0
}

// Constant ignores staleness: s(a) = 1.
type Constant struct{}

// Weight implements Staleness.
func (Constant) Weight(int) float64 { return 1 }

// Poly is s(a) = (1 + a)^−A (Xie et al., arXiv 1903.03934, section 5.2). With A = ½ it is FedBuff's 1/√(1 + a).
type Poly struct {
	A float64 `range:"(0,inf)" default:"0.5"` // decay exponent
}

// Weight implements Staleness.
func (p Poly) Weight(a int) float64 { return math.Pow(1+float64(a), -fedkit.Defaults(p).A) }

// Hinge is s(a) = 1 for a ≤ B, and 1/(A (a − B) + 1) beyond (Xie et al., likewise).
type Hinge struct {
	A float64 `range:"(0,inf)" default:"10"` // decay rate beyond B
	B int     `range:"[1,inf)" default:"4"`  // staleness without penalty, in rounds
}

// Weight implements Staleness.
func (h Hinge) Weight(a int) float64 {
	h = fedkit.Defaults(h)
	if over := a - h.B; over > 0 {
		return 1 / (h.A*float64(over) + 1)
	}
	return 1
}

// discounts returns s(a_i) times a factor.
func discounts(s Staleness, u *fedkit.Updates, factor float64) []float64 {
	w := make([]float64, len(u.Results))
	for i, solve := range u.Results {
		w[i] = factor * s.Weight(solve.Staleness)
	}
	return w
}
