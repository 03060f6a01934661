package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Adam divides by the root of a running mean of squares (arXiv 2003.00295, Algorithm 2, FedAdam),
//
//	m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,
//
// with the step given by Form.
type Adam struct {
	LR      float64 `range:"(0,inf)" default:"0.01"`                        // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`                          // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adam) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1)               // m ← β1 m + (1−β1)Δ
	v = v.Apply(adam, delta, o.Beta2, 1-o.Beta2) // v ← β2 v + (1−β2)Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, o.Beta2, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var adam = fedkit.NewProgram("adam", func(a []*Node) *Node {
	v, delta, beta, rest := a[0], a[1], a[2], a[3]
	return Add(Mul(beta, v), Mul(rest, Square(delta)))
})
