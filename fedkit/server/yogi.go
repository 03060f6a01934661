package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Yogi is Adam, except that v moves toward Δ² by a step that does not depend on the distance, so that it forgets large
// updates slowly (arXiv 2003.00295, Algorithm 2, FedYogi),
//
//	m ← β1 m + (1−β1)Δ,  v ← v − (1−β2) sign(v−Δ²)Δ²,
//
// with the step given by Form.
type Yogi struct {
	LR      float64 `range:"(0,inf)" default:"0.01"`                        // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`                          // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Yogi) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1)      // m ← β1 m + (1−β1)Δ
	v = v.Apply(yogi, delta, 1-o.Beta2) // v ← v − (1−β2) sign(v−Δ²)Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, o.Beta2, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var yogi = fedkit.NewProgram("yogi", func(a []*Node) *Node {
	v, squared, rest := a[0], Square(a[1]), a[2]
	return Sub(v, Mul(rest, Mul(Sign(Sub(v, squared)), squared)))
})
