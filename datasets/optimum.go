package datasets

import (
	"errors"
	"fmt"
)

// Optimum is where the objective of a data set that was made for it is least,
//
//	F(w) = Σ_i (n_i/N) f_i(w) = the mean loss of all N training examples (+ (λ/2)‖w‖²),
//
// f_i being the mean loss of client i's n_i examples: what federated averaging over all clients should minimise. It is
// worked out in float64 from the very float32 values of the data set.
type Optimum struct {
	W    []float64 // [d], in the order of the model's parameters: weights [f] or [f, classes], then the bias or biases
	Loss float64   // F(W)

	gap func(w []float64) float64
}

// Gap returns F(w) − F(W) ≥ 0 for the parameters w [d] of a model, in float64: what is left to gain, far beyond the
// digits a loss in float32 has.
func (o *Optimum) Gap(w []float32) (float64, error) {
	if o == nil || o.gap == nil {
		return 0, errors.New("datasets: Optimum.Gap: the optimum is not one that Make returned")
	}
	if len(w) != len(o.W) {
		return 0, fmt.Errorf("datasets: Optimum.Gap: w has %d values: must have %d", len(w), len(o.W))
	}
	wide := make([]float64, len(w))
	for i, v := range w {
		wide[i] = float64(v)
	}
	return max(0, o.gap(wide)), nil
}
