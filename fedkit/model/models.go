package model

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/gomlx/core/graph"
)

// LinearRegression is linear regression, x·w + b with half the squared error, of one target or several. It starts at zero.
func LinearRegression() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if d.Classes != 0 {
			return nil, fedkit.Invalid("model.LinearRegression: Classes", d.Classes, "0, a regression; model.LogisticRegression is for labels")
		}
		if d.Tags {
			return nil, fedkit.Invalid("model.LinearRegression: Tags", true, "false, a regression; model.LogisticRegression is for tags")
		}
		t := dense("linear", d)
		t.Params[0].Init = nil
		return t, nil
	}
}

// LogisticRegression is multinomial logistic regression: x·w + b with the cross entropy of its softmax; for tags, a logistic regression
// of each. It starts at zero.
func LogisticRegression() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if d.Classes == 0 && !d.Tags {
			return nil, fedkit.Invalid("model.LogisticRegression: Classes", 0, "at least 2; model.LinearRegression is for regressions")
		}
		t := dense("logistic", d)
		t.Params[0].Init = nil
		return t, nil
	}
}

// MLP is a multilayer perceptron: dense layers with ReLU between them, hidden ones of the given sizes and a last one with
// one output per class, target or tag, or per class at each position. MLP(200, 200) on MNIST is the 2NN of arXiv 1602.05629.
func MLP(hidden ...int) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		name := "MLP"
		for _, h := range hidden {
			if h < 1 {
				return nil, fedkit.Invalid("model.MLP: hidden", h, "at least 1")
			}
			name += fmt.Sprintf("-%d", h)
		}
		return dense(name, d, hidden...), nil
	}
}

// dense chains dense layers of the given sizes and a last one for the data set's outputs, with ReLU between them.
func dense(name string, d *datasets.Dataset, hidden ...int) *fedkit.Task {
	t := &fedkit.Task{Name: name, Params: chainParams(d.Features(), append(slices.Clone(hidden), outputs(d))...)}
	t = lastDense(t, func(p []*graph.Node, x *graph.Node) *graph.Node { return hiddenLayers(p, Flatten(x)) })
	if shape := d.Outputs(); len(shape) > 1 {
		flat := t.Forward
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			out := flat(p, x)
			return graph.Reshape(out, append(slices.Clone(out.Shape().Dimensions[:2]), shape...)...)
		}
	}
	return t
}

// outputs is the number of a model's outputs for an example.
func outputs(d *datasets.Dataset) int {
	n := 1
	for _, k := range d.Outputs() {
		n *= k
	}
	return n
}

// lastDense completes a task whose last layer is dense: body is what comes before it, with its parameters.
func lastDense(t *fedkit.Task, body func(p []*graph.Node, x *graph.Node) *graph.Node) *fedkit.Task {
	last := len(t.Params) - 2
	features := func(p []*graph.Node, x *graph.Node) *graph.Node { return body(p[:last], x) }
	name := strings.TrimSuffix(t.Params[last].Name, "/weights")
	t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
		return fedkit.NameLayer(name, Dense(features(p, x), p[last], p[last+1]))
	}
	if last > 0 {
		t.Features = features
	}
	return t
}

// LeNet is a small convolutional network: 5×5 convolutions to 6 and 16 channels, each with ReLU and 2×2 max pooling,
// then dense layers with 120 and 84 outputs and one output per class or tag. Images must be square, with a side of 4n ≥ 16 pixels
// (28 and 32 are).
func LeNet() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if len(d.Shape) != 3 || d.Shape[0] != d.Shape[1] || d.Shape[0] < 16 || d.Shape[0]%4 != 0 || !perExample(d) {
			return nil, fedkit.Invalid("model.LeNet: data shape", d.Shape, "labeled square images [s s channels] with s ≥ 16 divisible by 4"+channelsLast(d))
		}
		side, ch := d.Shape[0], d.Shape[2]
		flat := 16 * ((side-4)/2 - 4) / 2 * ((side-4)/2 - 4) / 2
		t := &fedkit.Task{Name: "LeNet", Params: []fedkit.Param{
			{Name: "conv1/weights", Shape: []int{6, ch, 5, 5}, Init: He(25 * ch)},
			{Name: "conv1/biases", Shape: []int{6}},
			{Name: "conv2/weights", Shape: []int{16, 6, 5, 5}, Init: He(25 * 6)},
			{Name: "conv2/biases", Shape: []int{16}},
		}}
		t.Params = append(t.Params, chainParams(flat, 120, 84, outputs(d))...)
		return lastDense(t, leNet), nil
	}
}

// leNet is LeNet without its last layer, [C, B, 84].
func leNet(p []*graph.Node, x *graph.Node) *graph.Node {
	x = graph.TransposeAllAxes(x, 0, 4, 2, 3, 1) // [C, B, h, w, ch] → [C, ch, h, w, B]
	for i, name := range []string{"conv1", "conv2"} {
		x = fedkit.NameLayer(name, ConvPool(x, p[2*i], p[2*i+1], 2), 0, 4, 2, 3, 1)
	}
	d := x.Shape().Dimensions
	x = graph.Transpose(graph.Reshape(x, d[0], d[1]*d[2]*d[3], d[4]), 1, 2) // [C, B, 16·h·w]
	return hiddenLayers(p[4:], x)
}
