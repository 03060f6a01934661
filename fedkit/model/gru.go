package model

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// GRU is a recurrent network for sequences of tokens, such as characters: an embedding of the vocabulary, a gated
// recurrent unit (Cho et al., arXiv 1406.1078, but with r after the product with U_n), and a dense layer with one output
// per class on its last state. From the embedding e_t of the token t and the state h, which starts at 0,
//
//	r = σ(e_t W_r + b_r + h U_r)    z = σ(e_t W_z + b_z + h U_z)    n = tanh(e_t W_n + b_n + r ⊙ h U_n)
//	h ← z ⊙ h + (1 − z) ⊙ n.
//
// The data has the shape [T], with whole numbers in [0, vocabulary): bytes of Scale 1. To predict the next token, labels
// are tokens too. With a label at each of the T positions, the dense layer has one output per class on every state.
func GRU(vocabulary, embedding, units int) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		k, err := sequences("model.GRU", d, vocabulary, size{"embedding", embedding}, size{"units", units})
		if err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: fmt.Sprintf("GRU-%d-%d", embedding, units), Params: append([]fedkit.Param{
			{Name: "embedding", Shape: []int{vocabulary, embedding}, Init: normal(1)},
			{Name: "gru/inputs", Shape: []int{embedding, 3 * units}, Init: normal(1 / float64(embedding))}, // W_r, W_z, W_n
			{Name: "gru/biases", Shape: []int{3 * units}},
			{Name: "gru/states", Shape: []int{units, 3 * units}, Init: normal(1 / float64(units))}, // U_r, U_z, U_n
		}, denseParams("dense", units, k)...)}
		return denseOnStates(t, d, "gru", gru), nil
	}
}

// gru returns the states after each token, [C, T, B, units]: p are the embedding, W, b and U, and x [C, B, T].
func gru(p []*Node, x *Node) *Node { return gruCell.layer(embedded(x, p[0]), p[1], p[2], p[3]) }

// gruCell is one step of a GRU. Its gradients, with that δh of what follows, and v for h U_n:
//
//	δn = δh ⊙ (1 − z) ⊙ (1 − n²),    δz = δh ⊙ (h − n) ⊙ z(1−z),    δv = δn ⊙ r,    δr = δn ⊙ v ⊙ r(1−r).
var gruCell = cell{
	gates: 3, apart: true,
	step: func(a, u []*Node, h, _ *Node) (*Node, *Node, []*Node) {
		_, z, n := gruGates(a, u)
		return Add(n, Mul(z, Sub(h, n))), nil, u
	},
	back: func(a, u []*Node, h, _, dh, _ *Node) (da, du []*Node, dhBefore, dcBefore *Node) {
		r, z, n := gruGates(a, u)
		direct := Mul(dh, z)
		dn := throughTanh(n, Sub(dh, direct))
		dr, dz := throughSigmoid(r, Mul(dn, u[2])), throughSigmoid(z, Mul(dh, Sub(h, n)))
		return []*Node{dr, dz, dn}, []*Node{dr, dz, Mul(dn, r)}, direct, nil
	},
}

func gruGates(a, u []*Node) (r, z, n *Node) {
	r, z = Sigmoid(Add(a[0], u[0])), Sigmoid(Add(a[1], u[1]))
	return r, z, Tanh(Add(a[2], Mul(r, u[2])))
}
