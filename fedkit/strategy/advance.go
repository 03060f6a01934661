package strategy

import "fedkit.example/fedkit"

// advance returns the global model x [1, d] after the server's step along delta, the aggregated update, in round t, and
// what the optimiser remembers after it. Without an optimiser the step is delta itself.
func advance(x, delta *fedkit.Matrix, o fedkit.ServerOptimizer, memory []*fedkit.Matrix, t int) (*fedkit.Matrix, []*fedkit.Matrix) {
	if o == nil {
		return x.Add(delta), nil
	}
	step, memory := o.Step(delta, memory, t)
	return x.Add(step), memory
}
