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
// are tokens too. With a label at each of the T positions, the dense layer has one output per class on every state. The loop over
// the sequence is unrolled, so compiling takes a second or more for every 20 tokens.
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

// gru returns the states after each token, [C, B, units]: p are the embedding, W, b and U, and x [C, B, T].
func gru(p []*Node, x *Node) (states []*Node) {
	units := p[3].Shape().Dim(1)
	cut := func(v *Node, from, to int) *Node { return SliceAxis(v, -1, AxisRange(from*units, to*units)) }
	var h *Node
	for _, token := range embedded(x, p[0]) {
		a := Dense(token, p[1], p[2])
		if h == nil {
			h = ZerosLike(cut(a, 0, 1))
		}
		u := product(h, p[3])
		rz := Sigmoid(Add(cut(a, 0, 2), cut(u, 0, 2)))
		n := Tanh(Add(cut(a, 2, 3), Mul(cut(rz, 0, 1), cut(u, 2, 3))))
		h = Add(n, Mul(cut(rz, 1, 2), Sub(h, n)))
		states = append(states, h)
	}
	return states
}
