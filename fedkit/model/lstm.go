package model

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// LSTM is a recurrent network for sequences of tokens: an embedding of the vocabulary, layers of long short-term memory (Hochreiter and
// Schmidhuber, Neural Computation 9, 1997; Gers et al., Neural Computation 12, 2000) with these numbers of units, and a dense layer with
// one output per class. From a layer's input e_t and its state h and memory c, which start at 0,
//
//	i = σ(e_t W_i + b_i + h U_i)    f = σ(e_t W_f + b_f + h U_f)    g = tanh(e_t W_g + b_g + h U_g)    o = σ(e_t W_o + b_o + h U_o)
//	c ← f ⊙ c + i ⊙ g               h ← o ⊙ tanh(c).
//
// Data and outputs are those of GRU: a label for the sequence or, as in language models, at each token, −1 where there is none, such as
// after the end of a text. LSTM(90, 8, 256, 256) is the network of arXiv 2003.00295 for Shakespeare, with 820,522 parameters for 90
// classes. b_f starts at 1. The loop over the sequence is unrolled, so compile time grows with T and the number of layers.
func LSTM(vocabulary, embedding int, units ...int) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		sizes := []size{{"embedding", embedding}}
		for _, u := range units {
			sizes = append(sizes, size{"units", u})
		}
		if len(units) == 0 {
			return nil, fedkit.Invalid("model.LSTM: units", units, "of at least one layer")
		}
		k, err := sequences("model.LSTM", d, vocabulary, sizes...)
		if err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: fmt.Sprintf("LSTM-%d", embedding), Params: []fedkit.Param{{Name: "embedding", Shape: []int{vocabulary, embedding}, Init: normal(1)}}}
		in := embedding
		for l, u := range units {
			name := fmt.Sprintf("lstm%d", l+1)
			t.Name += fmt.Sprintf("-%d", u)
			t.Params = append(t.Params, // of i, f, g and o, one after the other
				fedkit.Param{Name: name + "/inputs", Shape: []int{in, 4 * u}, Init: normal(1 / float64(in))},
				fedkit.Param{Name: name + "/biases", Shape: []int{4 * u}, Init: func(_ *rand.Rand, w []float32) { ones(nil, w[u:2*u]) }},
				fedkit.Param{Name: name + "/states", Shape: []int{u, 4 * u}, Init: normal(1 / float64(u))})
			in = u
		}
		t.Params = append(t.Params, denseParams("dense", in, k)...)
		return denseOnStates(t, d, fmt.Sprintf("lstm%d", len(units)), lstm), nil
	}
}

// lstm returns the last layer's states after each token, [C, B, units]: p are the embedding, and W, b and U of each layer; x [C, B, T].
func lstm(p []*Node, x *Node) (states []*Node) {
	states = embedded(x, p[0])
	for p = p[1:]; len(p) > 0; p = p[3:] {
		units := p[2].Shape().Dim(1)
		both := Concatenate([]*Node{p[0], p[2]}, 1) // one product per step
		cut := func(v *Node, from, to int) *Node { return SliceAxis(v, -1, AxisRange(from*units, to*units)) }
		var c, h *Node
		for t, in := range states {
			if h == nil {
				in = Dense(in, p[0], p[1])
				c = ZerosLike(cut(in, 0, 1))
			} else {
				in = Dense(Concatenate([]*Node{in, h}, -1), both, p[1])
			}
			gates := Sigmoid(cut(in, 0, 2))
			c = Add(Mul(cut(gates, 1, 2), c), Mul(cut(gates, 0, 1), Tanh(cut(in, 2, 3))))
			h = Mul(Sigmoid(cut(in, 3, 4)), Tanh(c))
			states[t] = h
		}
	}
	return states
}
