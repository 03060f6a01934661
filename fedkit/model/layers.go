// Package model has models for fedkit.New, the layers they consist of, and a way to use any GoMLX model
// function. All layers carry the client axis: one program trains many clients side by side.
//
// # Custom models
//
// A model is a function that makes a fedkit.Task for a data set: names, shapes and initializers of its parameters, and a
// graph function for its outputs, in which every node has the client axis first. Dense, Convolution, ConvPool, MaxPooling,
// GroupNorm, BatchNorm, Dropout, ReLU and Flatten do, as most of GoMLX's graph functions do if they are given axes;
// Einsum("cbi,cio->cbo", x, w) is a product for each client. See ResNet8, GRU and Transformer for models that are not chains of layers.
// fedkit.NameLayer names a layer, so that fedkit.Round.Features finds its outputs.
//
// GoMLX takes a GoMLX model function as it is, the shortest way to GoMLX's layers. Avoid the recurrent ones among them: a
// round on sequences of 20 characters takes about a hundred times as long with lstm.New as with GRU. It is the layer that
// is slow, not the way it is called. GRU and LSTM are loops, also backward, and compile in seconds; formulas that are written out for each
// step take minutes for 80 steps.
package model

import (
	"fmt"
	"math"
	"math/rand/v2"

	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Dense is x·w + b for each client: x [C, B, in], w [C, in, out], b [C, out]; result [C, B, out]. If all clients see
// the same examples, x is [1, B, in], and one product serves all of them.
func Dense(x, w, b *Node) *Node { return Add(product(x, w), InsertAxes(b, 1)) }

// product is x·w for each client.
func product(x, w *Node) *Node {
	if x.Shape().Dimensions[0] == 1 && w.Shape().Dimensions[0] > 1 {
		return Transpose(DotGeneral(w, []int{1}, nil, Squeeze(x, 0), []int{1}, nil), 1, 2) // from [C, out, B]
	}
	return DotGeneral(x, []int{2}, []int{0}, w, []int{1}, []int{0})
}

// ReLU is max(x, 0). Its slope at 0 is 0; that of GoMLX's Max, and so of its activation.Relu, is 1. NaN stays NaN.
func ReLU(x *Node) *Node {
	zero := ZerosLike(x)
	return Where(LessOrEqual(x, zero), zero, x)
}

// Dropout sets each number of x [C, B, …] to 0 with probability rate in training, and multiplies the others by 1/(1−rate), so that the mean
// stays (Srivastava et al., JMLR 15, 2014). The numbers drawn depend on the seed, the round, the client, the step and the place in the
// model: see fedkit.Training.Bits. In evaluation it is x.
func Dropout(x *Node, rate float64) *Node {
	if !(rate >= 0 && rate < 1) {
		panic(fedkit.Invalid("model.Dropout: rate", rate, "in [0, 1)"))
	}
	t := fedkit.TrainingOf(x)
	if t == nil || rate == 0 {
		return x
	}
	clients, d := t.Used().Shape().Dim(0), x.Shape()
	if d.Dim(0) != clients && clients > 1 {
		panic(fedkit.Invalid("model.Dropout: x", d, fmt.Sprintf("[%d, …], with the client axis first", clients)))
	}
	bits := Reshape(t.Bits(d.Size()/clients), d.Dimensions...)
	dropped := LessThan(bits, Scalar(x.Graph(), dtypes.Uint32, uint32(rate*(1<<32))))
	return Where(dropped, ZerosLike(x), MulScalar(x, 1/(1-rate)))
}

// Flatten turns [C, B, …] into [C, B, features].
func Flatten(x *Node) *Node {
	d := x.Shape().Dimensions
	return Reshape(x, d[0], d[1], -1)
}

// He draws weights from a normal distribution with variance 2/fanIn (arXiv 1502.01852), which suits ReLU.
func He(fanIn int) func(*rand.Rand, []float32) { return normal(2 / float64(fanIn)) }

// normal draws weights from a normal distribution.
func normal(variance float64) func(*rand.Rand, []float32) {
	return drawn(math.Sqrt(variance), (*rand.Rand).NormFloat64)
}

// drawn fills with scaled random numbers.
func drawn(scale float64, number func(*rand.Rand) float64) func(*rand.Rand, []float32) {
	return func(rng *rand.Rand, w []float32) {
		for i := range w {
			w[i] = float32(scale * number(rng))
		}
	}
}

// ones fills with 1.
func ones(_ *rand.Rand, w []float32) {
	for i := range w {
		w[i] = 1
	}
}

// denseParams are the two parameters of a dense layer; weights are initialized by He, biases at 0.
func denseParams(name string, in, out int) []fedkit.Param {
	return []fedkit.Param{
		{Name: name + "/weights", Shape: []int{in, out}, Init: He(in)},
		{Name: name + "/biases", Shape: []int{out}},
	}
}

// chainParams are the parameters of dense layers of the given sizes, one after the other: "dense1", "dense2", ….
func chainParams(in int, sizes ...int) (params []fedkit.Param) {
	for l, out := range sizes {
		params = append(params, denseParams(fmt.Sprintf("dense%d", l+1), in, out)...)
		in = out
	}
	return params
}

// hiddenLayers chains dense layers with ReLU after each, "dense1", "dense2", …; p holds their parameters in pairs.
func hiddenLayers(p []*Node, x *Node) *Node {
	for l := 0; l < len(p); l += 2 {
		x = fedkit.NameLayer(fmt.Sprintf("dense%d", l/2+1), ReLU(Dense(x, p[l], p[l+1])))
	}
	return x
}
