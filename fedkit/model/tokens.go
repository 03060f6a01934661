package model

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// size is an argument of a model by name.
type size struct {
	name  string
	value int
}

// sequences returns the number of outputs of a model for sequences of tokens, for one position if each has a label. It refuses sizes
// that are none, and data that is not whole numbers in [0, vocabulary), [T].
func sequences(model string, d *datasets.Dataset, vocabulary int, sizes ...size) (k int, err error) {
	for _, o := range append([]size{{"vocabulary", vocabulary}}, sizes...) {
		if o.value < 1 || o.value > math.MaxInt32 {
			return 0, fedkit.Invalid(model+": "+o.name, o.value, "in [1, 2³¹)")
		}
	}
	if len(d.Shape) != 1 {
		return 0, fedkit.Invalid(model+": data shape", d.Shape, "[T], a sequence of tokens")
	}
	row := make([]float32, d.Features())
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		for i := range s.Len() {
			for _, v := range s.Row(i, row) {
				if v < 0 || v >= float32(vocabulary) || v != float32(int(v)) {
					return 0, fedkit.Invalid(model+": token", v, fmt.Sprintf("a whole number in [0, %d); bytes need Scale 1 and Shift 0", vocabulary))
				}
			}
		}
	}
	if !labelsTokens(d) {
		return outputs(d), nil
	}
	if d.Train.Width != d.Shape[0] {
		return 0, fedkit.Invalid(model+": Width", d.Train.Width, fmt.Sprintf("%d, a label at each token", d.Shape[0]))
	}
	return d.Classes, nil
}

// labelsTokens reports whether each token has a label, and not the sequence.
func labelsTokens(d *datasets.Dataset) bool { return len(d.Outputs()) == 2 }

// embedded are the embeddings of the tokens, [C, T, B, width]: x [C or 1, B, T], embedding [C, vocabulary, width].
func embedded(x, embedding *Node) *Node {
	sets, b, T := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	x = Reshape(Transpose(ConvertDType(x, dtypes.Int32), 1, 2), sets, T*b)
	return Reshape(product(OneHot(x, embedding.Shape().Dim(1), embedding.DType()), embedding), -1, T, b, embedding.Shape().Dim(2))
}

// denseOnStates completes a recurrent task whose last layer is dense on its last state or, if each token has a label, on every state.
// states are those after each token, [C, T, B, units].
func denseOnStates(t *fedkit.Task, d *datasets.Dataset, layer string, states func(p []*Node, x *Node) *Node) *fedkit.Task {
	t = lastDense(t, func(p []*Node, x *Node) *Node {
		return fedkit.NameLayer(layer, Squeeze(SliceAxis(states(p, x), 1, AxisElem(-1)), 1))
	})
	if last := len(t.Params) - 2; labelsTokens(d) {
		t.Forward = func(p []*Node, x *Node) *Node {
			all := fedkit.NameLayer(layer, states(p[:last], x), 0, 2, 1, 3)
			d := all.Shape().Dimensions
			out := Dense(Reshape(all, d[0], d[1]*d[2], d[3]), p[last], p[last+1])
			return fedkit.NameLayer("dense", Transpose(Reshape(out, d[0], d[1], d[2], -1), 1, 2))
		}
	}
	return t
}

// Inputs takes the inputs of a data set with several (datasets.Join) apart: x [C, B, f], or [B, f] in a GoMLX model function; result
// [C, B, Inputs[i]…], or [B, Inputs[i]…], for each. It is x alone if there is one input.
func Inputs(d *datasets.Dataset, x *Node) (inputs []*Node) {
	if d.Inputs == nil {
		return []*Node{x}
	}
	last, from := x.Rank()-1, 0
	for _, shape := range d.Inputs {
		f := (&datasets.Dataset{Shape: shape}).Features()
		part := SliceAxis(x, last, AxisRange(from, from+f))
		inputs = append(inputs, Reshape(part, append(slices.Clone(x.Shape().Dimensions[:last]), shape...)...))
		from += f
	}
	return inputs
}
