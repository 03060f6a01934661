package examples

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/mat"
)

// features sends x to the clients, and returns the features of their training examples, by client [n_i, f], for a last layer with f inputs.
func features(r *fedkit.Round, x *fedkit.Matrix, layer string, clients []int, f int) []fedkit.Predictions {
	r.Send([]int{fedkit.Cloud}, clients, 1)
	p := r.Features(x, layer, datasets.TrainPart, clients)
	if len(p) > 0 && len(p[0].Outputs[0]) != f {
		r.Fail(fedkit.Invalid("Layer: outputs", len(p[0].Outputs[0]), fmt.Sprintf("%d, as the last layer takes", f)))
		return nil
	}
	return p
}

// fill copies numbers to float64.
func fill(to []float64, from []float32) {
	for i, v := range from {
		to[i] = float64(v)
	}
}

// solved returns (G + λI)⁻¹C.
func solved(r *fedkit.Round, G *mat.SymDense, lambda float64, C *mat.Dense) *mat.Dense {
	var W mat.Dense
	var chol mat.Cholesky
	for j := range G.SymmetricDim() {
		G.SetSym(j, j, G.At(j, j)+lambda)
	}
	if !chol.Factorize(G) {
		r.Fail(fedkit.Invalid("the last layer's G + λI", "singular", "positive definite: by a larger Lambda or Gamma"))
		return C
	}
	_ = chol.SolveTo(&W, C) // what is ill-conditioned is solved too
	return &W
}

// regression returns the rows [z, 1] of a client's examples, Z [n, f+1], and ZᵀY [f+1, k] for their one-hot labels or targets in Y.
func regression(p fedkit.Predictions, f, k int) (Z, ZY *mat.Dense) {
	Z, ZY = mat.NewDense(len(p.Outputs), f+1, nil), new(mat.Dense)
	Y := mat.NewDense(len(p.Outputs), k, nil)
	for j, z := range p.Outputs {
		fill(Z.RawRowView(j), append(slices.Clone(z), 1))
		switch {
		case p.Labels == nil:
			fill(Y.RawRowView(j), p.Targets[j*k:(j+1)*k])
		case p.Labels[j] < 0: // no label
			clear(Z.RawRowView(j))
		default:
			Y.Set(j, int(p.Labels[j]), 1)
		}
	}
	ZY.Mul(Z.T(), Y)
	return Z, ZY
}
