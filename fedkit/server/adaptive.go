package server

import (
	"cmp"
	"fmt"
	"math"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Form is which of two ways to write adaptive optimisers down is meant.
type Form int

const (
	// Corrected is seed 001's, and Adam's own (arXiv 1412.6980) but for the place of ε: m̂ = m/(1−β1^t) and
	// v̂ = v/(1−β2^t) make up for a memory that starts at zero, and ε stands inside the root,
	//
	//	step = η m̂/√(v̂ + ε),  m_0 = v_0 = 0.
	Corrected Form = iota

	// Reddi is that of arXiv 2003.00295, Algorithm 2: nothing is corrected, and τ, here Epsilon, stands outside the root,
	//
	//	step = η m/(√v + τ),  m_0 = 0,  v_0 = τ².
	Reddi
)

func (f Form) String() string {
	switch f {
	case Corrected:
		return "Corrected"
	case Reddi:
		return "Reddi"
	}
	return fmt.Sprintf("Form(%d)", int(f))
}

// adaptive is what Adagrad, Adam and Yogi share: all but the second moment.
type adaptive struct {
	LR, Beta1, Beta2, Epsilon float64
	Form                      Form
}

func (o adaptive) check(of string, rate float64) error {
	err := cmp.Or(checkRate(of, o.LR, rate), checkDecay(of+".Beta1", o.Beta1, 0.9), checkDecay(of+".Beta2", o.Beta2, 0.99))
	switch {
	case err != nil:
		return err
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return fedkit.Invalid(of+".Epsilon", o.Epsilon, "a number > 0, or 0 for the default of 1e-6 (1e-3 in Reddi's form)")
	case o.Form != Corrected && o.Form != Reddi:
		return fedkit.Invalid(of+".Form", o.Form, "server.Corrected or server.Reddi")
	}
	return nil
}

// step remembers m and v; second is the new v for (v, Δ, β2, 1−β2). An o.Beta2 of 0 is none: v̂ = v.
func (o adaptive) step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int, second *fedkit.Program) (*fedkit.Matrix, []*fedkit.Matrix) {
	beta1 := cmp.Or(o.Beta1, 0.9)
	unbias := func(beta float64) float64 { return 1 / (1 - math.Pow(beta, float64(t))) }
	rate, correct, inside, outside := o.LR*unbias(beta1), unbias(o.Beta2), cmp.Or(o.Epsilon, 1e-6), 0.0
	if o.Form == Reddi {
		rate, correct, inside, outside = o.LR, 1, 0, cmp.Or(o.Epsilon, 1e-3)
	}
	if len(memory) != 2 {
		memory = []*fedkit.Matrix{constant(delta, 0), constant(delta, outside*outside)}
	}
	m := average(memory[0], delta, beta1)
	v := memory[1].Apply(second, delta, o.Beta2, 1-o.Beta2)
	return m.Apply(divide, v, rate, correct, inside, outside), []*fedkit.Matrix{m, v}
}

// average returns βm + (1−β)Δ. The weight 1−β is an argument of its own: float32 would lose digits of it.
func average(m, delta *fedkit.Matrix, beta float64) *fedkit.Matrix {
	return m.Apply(averaged, delta, beta, 1-beta)
}

// constant returns a matrix like m that is c everywhere.
func constant(m *fedkit.Matrix, c float64) *fedkit.Matrix { return m.Apply(filled, c) }

var (
	filled = fedkit.NewProgram("fill", func(a []*Node) *Node { return BroadcastToShape(a[1], a[0].Shape()) })

	averaged = fedkit.NewProgram("average", func(a []*Node) *Node {
		m, delta, beta, rest := a[0], a[1], a[2], a[3]
		return Add(Mul(beta, m), Mul(rest, delta))
	})

	divide = fedkit.NewProgram("adaptive step", func(a []*Node) *Node {
		m, v, rate, correct, inside, outside := a[0], a[1], a[2], a[3], a[4], a[5]
		return Div(Mul(rate, m), Add(Sqrt(Add(Mul(correct, v), inside)), outside))
	})
)
