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
// classes. b_f starts at 1.
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

// lstm returns the last layer's states after each token, [C, T, B, units]: p are the embedding, and W, b and U of each layer; x [C, B, T].
func lstm(p []*Node, x *Node) (states *Node) {
	states = embedded(x, p[0])
	for p = p[1:]; len(p) > 0; p = p[3:] {
		states = lstmCell.layer(states, p[0], p[1], p[2])
	}
	return states
}

// lstmCell is one step of an LSTM. Its gradients, with those δh and δc of what follows:
//
//	δc ← δc + δh ⊙ o ⊙ (1 − tanh²c),    δi = δc ⊙ g ⊙ i(1−i),    δf = δc ⊙ c_before ⊙ f(1−f),    δg = δc ⊙ i ⊙ (1−g²),
//	δo = δh ⊙ tanh c ⊙ o(1−o),          δc_before = δc ⊙ f.
var lstmCell = cell{
	gates: 4, memory: true,
	step: func(a, u []*Node, h, c *Node) (*Node, *Node, []*Node) {
		sums := []*Node{Add(a[0], u[0]), Add(a[1], u[1]), Add(a[2], u[2]), Add(a[3], u[3])}
		i, f, g, o := lstmGates(sums)
		c = Add(Mul(f, c), Mul(i, g))
		return Mul(o, Tanh(c)), c, sums
	},
	back: func(_, sums []*Node, _, c, dh, dc *Node) (da, du []*Node, dhBefore, dcBefore *Node) {
		i, f, g, o := lstmGates(sums)
		tanh := Tanh(Add(Mul(f, c), Mul(i, g)))
		dc = Add(dc, throughTanh(tanh, Mul(dh, o)))
		da = []*Node{throughSigmoid(i, Mul(dc, g)), throughSigmoid(f, Mul(dc, c)), throughTanh(g, Mul(dc, i)), throughSigmoid(o, Mul(dh, tanh))}
		return da, da, nil, Mul(dc, f)
	},
}

func lstmGates(sums []*Node) (i, f, g, o *Node) {
	return Sigmoid(sums[0]), Sigmoid(sums[1]), Tanh(sums[2]), Sigmoid(sums[3])
}
