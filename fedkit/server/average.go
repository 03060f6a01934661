package server

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

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
