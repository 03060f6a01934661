package datasets

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Optimum is the minimum of the objective of a synthetic data set,
//
//	F(w) = Σ_i (n_i/N) f_i(w) = the mean loss of all N training examples (+ (λ/2)‖w‖²),
//
// where f_i is the mean loss of client i's n_i examples: the objective of federated averaging over all clients. It is
// computed in float64 from the float32 values of the data set.
type Optimum struct {
	W    []float64 // [d], in the order of the model's parameters: weights [f] or [f, classes], then the bias or biases
	Loss float64   // F(W)

	gap func(w []float64) float64
}

// Gap returns the optimality gap F(w) − F(W) ≥ 0 of the parameters w [d] of a model. It is computed in float64, with far
// more digits than a float32 loss has.
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

// withOnes returns the rows in float64, each followed by a 1, [n, f+1].
func withOnes(s *Split, f int) *mat.Dense {
	x := mat.NewDense(s.Len(), f+1, nil)
	for i := range s.Len() {
		row := x.RawRowView(i)
		for j, v := range s.Floats[i*f : (i+1)*f] {
			row[j] = float64(v)
		}
		row[f] = 1
	}
	return x
}
