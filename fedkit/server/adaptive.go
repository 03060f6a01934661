package server

import (
	"fmt"
	"math"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Form is one of two variants of the adaptive optimizers.
type Form int

const (
	// Corrected is Adam's original form (arXiv 1412.6980) except for the place of ε: m̂ = m/(1−β1^t) and v̂ = v/(1−β2^t)
	// correct the bias of starting at zero, and ε is inside the root,
	//
	//	step = η m̂/√(v̂ + ε),  m_0 = v_0 = 0.
	Corrected Form = iota

	// Reddi is that of arXiv 2003.00295, Algorithm 2: there is no bias correction, and τ, here Epsilon, is outside the root,
	//
	//	step = η m/(√v + τ),  m_0 = 0,  v_0 = τ².
	Reddi
)

// String returns the name of the constant.
func (f Form) String() string {
	switch f {
	case Corrected:
		return "Corrected"
	case Reddi:
		return "Reddi"
	}
	return fmt.Sprintf("Form(%d)", int(f))
}

// MarshalText writes the form's name into configurations.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Check implements fedkit.Checker.
func (f Form) Check(*fedkit.Federation, int) error {
	if f != Corrected && f != Reddi {
		return fedkit.Invalid("", f, "server.Corrected or server.Reddi")
	}
	return nil
}

// epsilon returns ε, which has a default in each form.
func (f Form) epsilon(epsilon float64) float64 {
	switch {
	case epsilon != 0:
		return epsilon
	case f == Reddi:
		return 1e-3
	}
	return 1e-6
}

// memory returns m and v after the previous step or, before the first one, m_0 and v_0.
func (f Form) memory(memory []*fedkit.Matrix, delta *fedkit.Matrix, epsilon float64) (m, v *fedkit.Matrix) {
	if len(memory) == 2 {
		return memory[0], memory[1]
	}
	tau := 0.0
	if f == Reddi {
		tau = f.epsilon(epsilon)
	}
	return constant(delta, 0), constant(delta, tau*tau)
}

// step returns the step of η along m and v in round t. If β2 is 0, v is not a running mean, and v̂ = v.
func (f Form) step(m, v *fedkit.Matrix, lr, beta1, beta2, epsilon float64, t int) *fedkit.Matrix {
	if f == Reddi {
		return m.Apply(divide, v, lr, 1.0, 0.0, f.epsilon(epsilon))
	}
	unbias := func(beta float64) float64 { return 1 / (1 - math.Pow(beta, float64(t))) }
	return m.Apply(divide, v, lr*unbias(beta1), unbias(beta2), f.epsilon(epsilon), 0.0)
}

var divide = fedkit.NewProgram("adaptive step", func(a []*Node) *Node {
	m, v, rate, correct, inside, outside := a[0], a[1], a[2], a[3], a[4], a[5]
	return Div(Mul(rate, m), Add(Sqrt(Add(Mul(correct, v), inside)), outside))
})
