package server

import (
	"cmp"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Adam divides by the root of a running mean of squares (seed 001 §6; arXiv 2003.00295, Algorithm 2, FedAdam),
//
//	m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,
//
// with the step of its Form.
type Adam struct {
	LR      float64 // η > 0, server learning rate; default 0.01
	Beta1   float64 // β1 in [0, 1); default 0.9, fedkit.Zero for 0
	Beta2   float64 // β2 in [0, 1); default 0.99, fedkit.Zero for 0
	Epsilon float64 // ε > 0; default 1e-6; in Reddi's form τ, default 1e-3
	Form    Form    // default Corrected
}

func (o Adam) shared() adaptive {
	return adaptive{cmp.Or(o.LR, 0.01), o.Beta1, cmp.Or(o.Beta2, 0.99), o.Epsilon, o.Form}
}

// Check implements fedkit.Checker.
func (o Adam) Check() error { return o.shared().check("Adam", 0.01) }

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adam) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return o.shared().step(delta, memory, t, adam)
}

var adam = fedkit.NewProgram("adam", func(a []*Node) *Node {
	v, delta, beta, rest := a[0], a[1], a[2], a[3]
	return Add(Mul(beta, v), Mul(rest, Square(delta)))
})
