package model

import (
	"fmt"
	"math"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes"
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
		for _, o := range []struct {
			name  string
			value int
		}{{"vocabulary", vocabulary}, {"embedding", embedding}, {"units", units}} {
			if o.value < 1 || o.value > math.MaxInt32 {
				return nil, fedkit.Invalid("model.GRU: "+o.name, o.value, "in [1, 2³¹)")
			}
		}
		if len(d.Shape) != 1 {
			return nil, fedkit.Invalid("model.GRU: data shape", d.Shape, "[T], a sequence of tokens")
		}
		if err := tokens(d, vocabulary); err != nil {
			return nil, err
		}
		k, positions := outputs(d), len(d.Outputs()) == 2
		if positions {
			if k = d.Classes; d.Train.Width != d.Shape[0] {
				return nil, fedkit.Invalid("model.GRU: Width", d.Train.Width, fmt.Sprintf("%d, a label at each token", d.Shape[0]))
			}
		}
		t := &fedkit.Task{Name: fmt.Sprintf("GRU-%d-%d", embedding, units), Params: append([]fedkit.Param{
			{Name: "embedding", Shape: []int{vocabulary, embedding}, Init: normal(1)},
			{Name: "gru/inputs", Shape: []int{embedding, 3 * units}, Init: normal(1 / float64(embedding))}, // W_r, W_z, W_n
			{Name: "gru/biases", Shape: []int{3 * units}},
			{Name: "gru/states", Shape: []int{units, 3 * units}, Init: normal(1 / float64(units))}, // U_r, U_z, U_n
		}, denseParams("dense", units, k)...)}
		t = lastDense(t, func(p []*Node, x *Node) *Node {
			states := gru(p, x)
			return fedkit.NameLayer("gru", states[len(states)-1])
		})
		if positions {
			t.Forward = func(p []*Node, x *Node) *Node {
				states := fedkit.NameLayer("gru", Stack(gru(p[:4], x), 2)) // [C, B, T, units]
				d := states.Shape().Dimensions
				return fedkit.NameLayer("dense", Reshape(Dense(Reshape(states, d[0], d[1]*d[2], d[3]), p[4], p[5]), d[0], d[1], d[2], k))
			}
		}
		return t, nil
	}
}

// tokens refuses data that is not whole numbers in [0, vocabulary).
func tokens(d *datasets.Dataset, vocabulary int) error {
	row := make([]float32, d.Features())
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		for i := range s.Len() {
			for _, v := range s.Row(i, row) {
				if v < 0 || v >= float32(vocabulary) || v != float32(int(v)) {
					return fedkit.Invalid("model.GRU: token", v, fmt.Sprintf("a whole number in [0, %d); bytes need Scale 1 and Shift 0", vocabulary))
				}
			}
		}
	}
	return nil
}

// gru returns the states after each token, [C, B, units]: p are the embedding, W, b and U, and x [C, B, T].
func gru(p []*Node, x *Node) (states []*Node) {
	vocabulary, units := p[0].Shape().Dim(1), p[3].Shape().Dim(1)
	d := x.Shape().Dimensions
	cut := func(v *Node, from, to int) *Node { return SliceAxis(v, -1, AxisRange(from*units, to*units)) }
	x = ConvertDType(x, dtypes.Int32)
	var h *Node
	for t := range d[2] {
		token := OneHot(Squeeze(SliceAxis(x, 2, AxisElem(t)), 2), vocabulary, p[0].DType())
		a := Dense(product(token, p[0]), p[1], p[2])
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
