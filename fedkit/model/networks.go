package model

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// CNN is the convolutional network of arXiv 1602.05629 for MNIST: padded 5×5 convolutions to 32 and 64 channels, each with ReLU and 2×2
// max pooling, a dense layer with 512 units and ReLU, and one output per class or tag; 1,663,370 parameters for
// MNIST. Images have a height and a width of at least 4 pixels.
func CNN() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if err := images("model.CNN", d, 4); err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: "CNN"}
		in := d.Shape[2]
		for i, out := range []int{32, 64} {
			t.Params = append(t.Params, convolutionParams(fmt.Sprintf("conv%d", i+1), 5, in, out),
				fedkit.Param{Name: fmt.Sprintf("conv%d/biases", i+1), Shape: []int{out}})
			in = out
		}
		t.Params = append(t.Params, chainParams(d.Shape[0]/4*(d.Shape[1]/4)*in, 512, outputs(d))...)
		return lastDense(t, cnn), nil
	}
}

// cnn is CNN without its last layer, [C, B, 512].
func cnn(p []*Node, x *Node) *Node {
	for i := range 2 { // bias and ReLU commute with the maximum
		name := fmt.Sprintf("conv%d", i+1)
		x = MaxPooling(Convolution{Name: name, Same: true}.Of(x, p[2*i]), 2)
		x = fedkit.NameLayer(name, ReLU(Add(x, InsertAxes(p[2*i+1], 1, 1, 1))))
	}
	return hiddenLayers(p[4:], Flatten(x))
}

// ResNet8 is a residual network (arXiv 1512.03385) with group normalization, which averages well, in place of batch normalization
// (arXiv 2003.00295 does so with ResNet-18): a 3×3 convolution to 16 channels; three blocks of two 3×3 convolutions to 16, 32 and 64
// channels, the second and third with stride 2 and a strided 1×1 convolution beside; the mean over the pixels; and one output per class or tag.
// Each 3×3 convolution is normalized in four groups, none has a bias. 77,850 parameters for CIFAR-10.
func ResNet8() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if err := images("model.ResNet8", d, 4); err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: "ResNet-8"}
		layer := func(name string, in, out int) {
			t.Params = append(t.Params, convolutionParams(name, 3, in, out),
				fedkit.Param{Name: name + "/gain", Shape: []int{out}, Init: ones}, fedkit.Param{Name: name + "/offset", Shape: []int{out}})
		}
		layer("conv", d.Shape[2], 16)
		in := 16
		for i, out := range resNetChannels {
			layer(fmt.Sprintf("block%d/conv1", i+1), in, out)
			layer(fmt.Sprintf("block%d/conv2", i+1), out, out)
			if i > 0 {
				t.Params = append(t.Params, convolutionParams(fmt.Sprintf("block%d/shortcut", i+1), 1, in, out))
			}
			in = out
		}
		t.Params = append(t.Params, denseParams("dense", in, outputs(d))...)
		return lastDense(t, resNet8), nil
	}
}

var resNetChannels = []int{16, 32, 64}

// resNet8 is ResNet8 without its last layer, [C, B, 64].
func resNet8(p []*Node, x *Node) *Node {
	next := func() (w *Node) {
		w, p = p[0], p[1:]
		return w
	}
	layer := func(name string, x *Node, stride int) *Node {
		y := Convolution{Name: name, Stride: stride, Same: true}.Of(x, next())
		return GroupNorm(y, next(), next(), 4)
	}
	x = fedkit.NameLayer("conv", ReLU(layer("conv", x, 1)))
	for i := range resNetChannels {
		stride := min(2, i+1)
		y := ReLU(layer(fmt.Sprintf("block%d/conv1", i+1), x, stride))
		y = layer(fmt.Sprintf("block%d/conv2", i+1), y, 1)
		if stride > 1 {
			x = Convolution{Name: fmt.Sprintf("block%d/shortcut", i+1), Stride: stride}.Of(x, next())
		}
		x = fedkit.NameLayer(fmt.Sprintf("block%d", i+1), ReLU(Add(x, y)))
	}
	return ReduceMean(x, 2, 3)
}

// images refuses data that is not labeled images of at least this side.
func images(name string, d *datasets.Dataset, side int) error {
	if len(d.Shape) != 3 || d.Shape[0] < side || d.Shape[1] < side || !perExample(d) {
		return fedkit.Invalid(name+": data shape", d.Shape, fmt.Sprintf("labeled images [h w channels] with h and w ≥ %d", side))
	}
	return nil
}

// perExample reports whether examples have labels or tags, not one at each of several positions.
func perExample(d *datasets.Dataset) bool { return d.Labeled() || d.Tags }

// convolutionParams is the kernel of a convolution, initialized by He.
func convolutionParams(name string, k, in, out int) fedkit.Param {
	return fedkit.Param{Name: name + "/weights", Shape: []int{k, k, in, out}, Init: He(k * k * in)}
}
