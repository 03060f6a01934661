// Package server has the server optimisers: they take Δ, what the clients of a round would add to the global model on
// the whole, for the negative of a gradient, and turn it into a step of the model x ← x + step. Each is a
// fedkit.ServerOptimizer; strategy.FedOpt is the algorithm around them.
//
// Δ is [1, d], or [k, d] for k models at once: every parameter is treated on its own. A memory of the wrong length, such
// as another optimiser's, is taken for none.
package server

import (
	"cmp"
	"fmt"
	"math"

	"fedkit.example/fedkit"
)

// SGD steps along Δ: step = ηΔ. With η = 1 the server simply takes what was aggregated.
type SGD struct {
	LR float64 // η > 0, server learning rate; default 1
}

// Check implements fedkit.Checker.
func (o SGD) Check() error { return checkRate("SGD", o.LR, 1) }

// Step implements fedkit.ServerOptimizer. Nothing is remembered.
func (o SGD) Step(delta *fedkit.Matrix, _ []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return delta.Scale(cmp.Or(o.LR, 1)), nil
}

// Momentum averages Δ over rounds (seed 001 §4; seed 002, CC-FL, Algorithm 1),
//
//	m ← βm + (1−β)Δ,  step = ηm,  m_0 = 0.
//
// The older form m ← βm + Δ (arXiv 1909.06335) is the same with η/(1−β) in place of η.
type Momentum struct {
	LR   float64 // η > 0, server learning rate; default 1
	Beta float64 // β in [0, 1); default 0.9, fedkit.Zero for 0
}

// Check implements fedkit.Checker.
func (o Momentum) Check() error {
	return cmp.Or(checkRate("Momentum", o.LR, 1), checkDecay("Momentum.Beta", o.Beta, 0.9))
}

// Step implements fedkit.ServerOptimizer. It remembers m.
func (o Momentum) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	if len(memory) != 1 {
		memory = []*fedkit.Matrix{constant(delta, 0)}
	}
	m := average(memory[0], delta, cmp.Or(o.Beta, 0.9))
	return m.Scale(cmp.Or(o.LR, 1)), []*fedkit.Matrix{m}
}

func checkRate(of string, rate, usual float64) error {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		return fedkit.Invalid(of+".LR", rate, fmt.Sprintf("a number > 0, or 0 for the default of %g", usual))
	}
	return nil
}

func checkDecay(field string, beta, usual float64) error {
	if !(beta >= 0 && beta < 1) {
		return fedkit.Invalid(field, beta, fmt.Sprintf("in (0, 1), 0 for the default of %g, or fedkit.Zero", usual))
	}
	return nil
}
