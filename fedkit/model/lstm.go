package model

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/compute/shapes"
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
		product := stepwise(Concatenate([]*Node{p[0], p[2]}, 1))
		biases := InsertAxes(p[1], 1)
		cut := func(v *Node, from, to int) *Node { return SliceAxis(v, -1, AxisRange(from*units, to*units)) }
		h := Zeros(x.Graph(), shapes.Make(p[0].DType(), p[0].Shape().Dim(0), x.Shape().Dim(1), units))
		c := h
		for t, in := range states {
			in = Add(product(Concatenate([]*Node{in, h}, -1)), biases)
			gates := Sigmoid(cut(in, 0, 2))
			c = Add(Mul(cut(gates, 1, 2), c), Mul(cut(gates, 0, 1), Tanh(cut(in, 2, 3))))
			h = Mul(Sigmoid(cut(in, 3, 4)), Tanh(c))
			states[t] = h
		}
	}
	return states
}

// stepwise is product with w [C, in, out] in the steps of a recurrent layer. Its gradient by w is one product over all steps, in place of
// a sum of as many, each as large as w.
func stepwise(w *Node) func(x *Node) *Node {
	var inputs, slopes []*Node // by step, [C, B, in], and [C, B, out] as the gradient comes by
	w = IdentityWithCustomGradient(w, func(_, sum *Node) *Node {
		var xs, ds []*Node
		for t, d := range slopes {
			if d != nil {
				xs, ds, slopes[t] = append(xs, inputs[t]), append(ds, d), nil
			}
		}
		return DotGeneral(Concatenate(xs, 1), []int{1}, []int{0}, Concatenate(ds, 1), []int{1}, []int{0})
	})
	return func(x *Node) *Node {
		t := len(inputs)
		inputs, slopes = append(inputs, x), append(slopes, nil)
		return IdentityWithCustomGradient(product(x, w), func(_, d *Node) *Node {
			slopes[t] = d
			return d
		})
	}
}
