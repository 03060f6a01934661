package main

import (
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/norm"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// either is a model of fedkit's or, for a task that ends so, the same as a GoMLX model function of GoMLX's layers.
func either(task string, own fedkit.Model, fn func(*mlmodel.Scope, *graph.Node) *graph.Node) fedkit.Model {
	if strings.HasSuffix(task, "-gomlx") {
		return model.GoMLX(strings.TrimSuffix(task, "-gomlx"), fn)
	}
	return own
}

// cnn is model.CNN.
func cnn(s *mlmodel.Scope, x *graph.Node) *graph.Node {
	for i, channels := range []int{32, 64} {
		x = layers.Convolution(s.In("conv%d", i+1), x).Channels(channels).KernelSize(5).PadSame().Done()
		x = graph.MaxPool(activation.Relu(x)).Window(2).Done()
	}
	x = activation.Relu(layers.Dense(s.In("dense1"), graph.Reshape(x, x.Shape().Dim(0), -1), true, 512))
	return layers.Dense(s.In("dense2"), x, true, 10)
}

// resNet8 is model.ResNet8, but for gains and offsets by channel of a group and pixel.
func resNet8(s *mlmodel.Scope, x *graph.Node) *graph.Node {
	conv := func(s *mlmodel.Scope, x *graph.Node, channels, kernel, stride int) *graph.Node {
		return layers.Convolution(s, x).Channels(channels).KernelSize(kernel).Strides(stride).PadSame().UseBias(false).Done()
	}
	layer := func(s *mlmodel.Scope, x *graph.Node, channels, stride int) *graph.Node {
		x = conv(s, x, channels, 3, stride)
		d := x.Shape().Dimensions
		return graph.Reshape(norm.LayerNorm(s, graph.Reshape(x, d[0], d[1], d[2], 4, d[3]/4), 1, 2, 4).Done(), d...)
	}
	x = activation.Relu(layer(s.In("conv"), x, 16, 1))
	for i, channels := range []int{16, 32, 64} {
		stride, at := min(2, i+1), s.In("block%d", i+1)
		y := activation.Relu(layer(at.In("conv1"), x, channels, stride))
		y = layer(at.In("conv2"), y, channels, 1)
		if stride > 1 {
			x = conv(at.In("shortcut"), x, channels, 1, stride)
		}
		x = activation.Relu(graph.Add(x, y))
	}
	return layers.Dense(s.In("dense"), graph.ReduceMean(x, 1, 2), true, 10)
}
