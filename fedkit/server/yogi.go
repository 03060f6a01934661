package server

import (
	"cmp"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Yogi is Adam whose v moves towards Δ² by a step that does not depend on how far away it is, so that it forgets large
// updates slowly (seed 001 §7; arXiv 2003.00295, Algorithm 2, FedYogi),
//
//	m ← β1 m + (1−β1)Δ,  v ← v − (1−β2) sign(v−Δ²)Δ²,
//
// with the step of its Form.
type Yogi struct {
	LR      float64 // η > 0, server learning rate; default 0.01
	Beta1   float64 // β1 in [0, 1); default 0.9, fedkit.Zero for 0
	Beta2   float64 // β2 in [0, 1); default 0.99, fedkit.Zero for 0
	Epsilon float64 // ε > 0; default 1e-6; in Reddi's form τ, default 1e-3
	Form    Form    // default Corrected
}

func (o Yogi) shared() adaptive {
	return adaptive{cmp.Or(o.LR, 0.01), o.Beta1, cmp.Or(o.Beta2, 0.99), o.Epsilon, o.Form}
}

// Check implements fedkit.Checker.
func (o Yogi) Check() error { return o.shared().check("Yogi", 0.01) }

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Yogi) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return o.shared().step(delta, memory, t, yogi)
}

var yogi = fedkit.NewProgram("yogi", func(a []*Node) *Node {
	v, squared, rest := a[0], Square(a[1]), a[3]
	return Sub(v, Mul(rest, Mul(Sign(Sub(v, squared)), squared)))
})
