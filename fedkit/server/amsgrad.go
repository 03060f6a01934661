package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// AMSGrad divides by the root of the largest running mean of squares so far (arXiv 1904.09237, Algorithm 2; with federated
// updates, arXiv 2205.02719, FedAMSGrad),
//
//	m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,  v̂ ← max(v̂, v),  step = η m/(√v̂ + ε),
//
// with m_0 = v_0 = v̂_0 = 0. The effective learning rate η/(√v̂ + ε) never grows.
type AMSGrad struct {
	LR      float64 `range:"(0,inf)" default:"0.01"` // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`    // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`   // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-3"` // ε, added to the root
}

// Step implements fedkit.ServerOptimizer. It remembers m, v and v̂.
func (o AMSGrad) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	zero := constant(delta, 0)
	m, v, most := zero, zero, zero
	if len(memory) == 3 {
		m, v, most = memory[0], memory[1], memory[2]
	}
	m = average(m, delta, o.Beta1)               // m ← β1 m + (1−β1)Δ
	v = v.Apply(adam, delta, o.Beta2, 1-o.Beta2) // v ← β2 v + (1−β2)Δ²
	most = most.Apply(larger, v)                 // v̂ ← max(v̂, v)
	return m.Apply(divide, most, o.LR, 1.0, 0.0, o.Epsilon), []*fedkit.Matrix{m, v, most}
}

var larger = fedkit.NewProgram("larger", func(a []*Node) *Node { return Max(a[0], a[1]) })
