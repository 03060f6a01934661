package server

import (
	"cmp"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Adagrad divides by the root of all squares so far (seed 001 §5; arXiv 2003.00295, Algorithm 2, FedAdagrad),
//
//	m ← β1 m + (1−β1)Δ,  v ← v + Δ²,  v̂ = v,
//
// with the step of its Form. The paper's experiments take no momentum: Beta1: fedkit.Zero.
type Adagrad struct {
	LR      float64 // η > 0, server learning rate; default 0.1
	Beta1   float64 // β1 in [0, 1); default 0.9, fedkit.Zero for 0
	Epsilon float64 // ε > 0; default 1e-6; in Reddi's form τ, default 1e-3
	Form    Form    // default Corrected
}

func (o Adagrad) shared() adaptive {
	return adaptive{LR: cmp.Or(o.LR, 0.1), Beta1: o.Beta1, Epsilon: o.Epsilon, Form: o.Form}
}

// Check implements fedkit.Checker.
func (o Adagrad) Check() error { return o.shared().check("Adagrad", 0.1) }

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adagrad) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return o.shared().step(delta, memory, t, adagrad)
}

var adagrad = fedkit.NewProgram("adagrad", func(a []*Node) *Node {
	v, delta := a[0], a[1]
	return Add(v, Square(delta))
})
