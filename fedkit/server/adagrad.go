package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Adagrad divides by the root of the sum of all squares so far (arXiv 2003.00295, Algorithm 2, FedAdagrad),
//
//	m ← β1 m + (1−β1)Δ,  v ← v + Δ²,  v̂ = v,
//
// with the step given by Form. The paper's experiments use no momentum: Beta1: fedkit.Zero.
type Adagrad struct {
	LR      float64 `range:"(0,inf)" default:"0.1"`                         // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adagrad) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1) // m ← β1 m + (1−β1)Δ
	v = v.Apply(adagrad, delta)    // v ← v + Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, 0, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var adagrad = fedkit.NewProgram("adagrad", func(a []*Node) *Node {
	v, delta := a[0], a[1]
	return Add(v, Square(delta))
})
