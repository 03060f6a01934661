// Package server has the server optimizers. They treat Δ, the clients' combined update of the global model in a round, as
// a negative gradient, and turn it into a step of the model x ← x + step. Each is a fedkit.ServerOptimizer;
// strategy.FedOpt is the algorithm around them.
//
// Δ is [1, d], or [k, d] for k models at once: every parameter is treated separately. A memory of the wrong length, such
// as another optimizer's, is treated as empty. Strategies call fedkit.Round.ServerStep, which averages running values such as those of
// batch normalization, and optimizes the rest.
package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// SGD steps along Δ: step = ηΔ. With η = 1 the server simply adopts the aggregate.
type SGD struct {
	LR float64 `range:"(0,inf)" default:"1"` // η, server learning rate
}

// Step implements fedkit.ServerOptimizer. Nothing is remembered.
func (o SGD) Step(delta *fedkit.Matrix, _ []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return delta.Scale(fedkit.Defaults(o).LR), nil
}

// Momentum averages Δ over rounds,
//
//	m ← βm + (1−β)Δ,  step = ηm,  m_0 = 0,
//
// or is a heavy ball, m ← βm + Δ, as in Hsu et al. (arXiv 1909.06335). The average with η/(1−β) takes the same steps.
type Momentum struct {
	LR        float64 `range:"(0,inf)" default:"1"` // η, server learning rate
	Beta      float64 `range:"[0,1)" default:"0.9"` // β, weight of the previous m
	HeavyBall bool    // m ← βm + Δ; default m ← βm + (1−β)Δ
}

// Step implements fedkit.ServerOptimizer. It remembers m.
func (o Momentum) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	if len(memory) != 1 {
		memory = []*fedkit.Matrix{constant(delta, 0)}
	}
	o = fedkit.Defaults(o)
	m := average(memory[0], delta, o.Beta)
	if o.HeavyBall {
		m = memory[0].Apply(averaged, delta, o.Beta, 1.0)
	}
	return m.Scale(o.LR), []*fedkit.Matrix{m}
}

// average returns βm + (1−β)Δ. The weight 1−β is a separate argument, since float32 would lose some of its digits.
func average(m, delta *fedkit.Matrix, beta float64) *fedkit.Matrix {
	return m.Apply(averaged, delta, beta, 1-beta)
}

// constant returns a matrix like m that is c everywhere.
func constant(m *fedkit.Matrix, c float64) *fedkit.Matrix { return m.Apply(filled, c) }

var (
	averaged = fedkit.NewProgram("average", func(a []*Node) *Node {
		m, delta, beta, rest := a[0], a[1], a[2], a[3]
		return Add(Mul(beta, m), Mul(rest, delta))
	})
	filled = fedkit.NewProgram("fill", func(a []*Node) *Node { return BroadcastToShape(a[1], a[0].Shape()) })
)
