package model

import (
	"slices"

	"fedkit.example/datasets"
	. "github.com/gomlx/gomlx/core/graph"
)

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
