package model

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
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
	t = lastDense(t, func(p []*Node, x *Node) *Node { return hiddenLayers(p, Flatten(x)) })
	if shape := d.Outputs(); len(shape) > 1 {
		flat := t.Forward
		t.Forward = func(p []*Node, x *Node) *Node {
			out := flat(p, x)
			return Reshape(out, append(slices.Clone(out.Shape().Dimensions[:2]), shape...)...)
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
func lastDense(t *fedkit.Task, body func(p []*Node, x *Node) *Node) *fedkit.Task {
	last := len(t.Params) - 2
	features := func(p []*Node, x *Node) *Node { return body(p[:last], x) }
	name := strings.TrimSuffix(t.Params[last].Name, "/weights")
	t.Forward = func(p []*Node, x *Node) *Node {
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
func leNet(p []*Node, x *Node) *Node {
	x = TransposeAllAxes(x, 0, 4, 2, 3, 1) // [C, B, h, w, ch] → [C, ch, h, w, B]
	for i, name := range []string{"conv1", "conv2"} {
		x = fedkit.NameLayer(name, ConvPool(x, p[2*i], p[2*i+1], 2), 0, 4, 2, 3, 1)
	}
	d := x.Shape().Dimensions
	x = Transpose(Reshape(x, d[0], d[1]*d[2]*d[3], d[4]), 1, 2) // [C, B, 16·h·w]
	return hiddenLayers(p[4:], x)
}

// CNN is the convolutional network of arXiv 1602.05629 for MNIST: padded 5×5 convolutions to 32 and 64 channels, each with ReLU and 2×2
// max pooling, a dense layer with 512 units and ReLU, and one output per class or tag; 1,663,370 parameters for
// MNIST. Images have a height and a width of at least 4 pixels.
func CNN() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if err := images("model.CNN", d, 4); err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: "CNN", Params: biasedParams(5, d.Shape[2], 32, 64)}
		t.Params = append(t.Params, chainParams(d.Shape[0]/4*(d.Shape[1]/4)*64, 512, outputs(d))...)
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

// EMNISTCNN is the convolutional network of arXiv 2003.00295 for EMNIST, with dropout: 3×3 convolutions to 32 and 64 channels with ReLU,
// 2×2 max pooling, dropout at rate 1/4, a dense layer with 128 units and ReLU, dropout at rate 1/2, and one output per class or tag;
// 1,206,590 parameters for 28×28 pixels and 62 classes. Images have a height and a width of at least 6 pixels.
func EMNISTCNN() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if err := images("model.EMNISTCNN", d, 6); err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: "EMNIST-CNN", Params: biasedParams(3, d.Shape[2], 32, 64)}
		t.Params = append(t.Params, chainParams((d.Shape[0]-4)/2*((d.Shape[1]-4)/2)*64, 128, outputs(d))...)
		return lastDense(t, emnistCNN), nil
	}
}

// emnistCNN is EMNISTCNN without its last layer, [C, B, 128].
func emnistCNN(p []*Node, x *Node) *Node {
	x = Convolution{Name: "conv1"}.Of(x, p[0])
	x = fedkit.NameLayer("conv1", ReLU(Add(x, InsertAxes(p[1], 1, 1, 1))))
	x = MaxPooling(Convolution{Name: "conv2"}.Of(x, p[2]), 2) // bias and ReLU commute with the maximum
	x = fedkit.NameLayer("conv2", ReLU(Add(x, InsertAxes(p[3], 1, 1, 1))))
	return Dropout(hiddenLayers(p[4:], Dropout(Flatten(x), 0.25)), 0.5)
}

// ResNet8 is a residual network (arXiv 1512.03385) with group normalization, which averages well, in place of batch normalization
// (arXiv 2003.00295 does so with ResNet-18): a 3×3 convolution to 16 channels; three blocks of two 3×3 convolutions to 16, 32 and 64
// channels, the second and third with stride 2 and a strided 1×1 convolution beside; the mean over the pixels; and one output per class or tag.
// Each 3×3 convolution is normalized in four groups, none has a bias. 77,850 parameters for CIFAR-10.
func ResNet8() fedkit.Model {
	return resNet{name: "ResNet8", channels: []int{16, 32, 64}, groups: 4}.model
}

// ResNet18 is ResNet-18 (arXiv 1512.03385) for small images, with group normalization in place of batch normalization, as arXiv 2003.00295
// has it for CIFAR-100: ResNet8 with eight blocks, two each of 64, 128, 256 and 512 channels, and normalization in two groups, also of the
// 1×1 convolutions beside the blocks. 11,220,132 parameters for CIFAR-100.
func ResNet18() fedkit.Model {
	return resNet{name: "ResNet18", channels: []int{64, 64, 128, 128, 256, 256, 512, 512}, groups: 2, shortcuts: true}.model
}

// resNet is the design of ResNet8 and ResNet18.
type resNet struct {
	name      string
	channels  []int // of the blocks; where there are more than before, a block has stride 2 and a 1×1 convolution beside
	groups    int   // of a normalization
	shortcuts bool  // whether the 1×1 convolutions are normalized
}

func (n resNet) model(d *datasets.Dataset) (*fedkit.Task, error) {
	if err := images("model."+n.name, d, 4); err != nil {
		return nil, err
	}
	t := &fedkit.Task{Name: strings.Replace(n.name, "Net", "Net-", 1)}
	layer := func(name string, k, in, out int, normalized bool) {
		t.Params = append(t.Params, convolutionParams(name, k, in, out))
		if normalized {
			t.Params = append(t.Params, fedkit.Param{Name: name + "/gain", Shape: []int{out}, Init: ones}, fedkit.Param{Name: name + "/offset", Shape: []int{out}})
		}
	}
	in := n.channels[0]
	layer("conv", 3, d.Shape[2], in, true)
	for i, out := range n.channels {
		layer(fmt.Sprintf("block%d/conv1", i+1), 3, in, out, true)
		layer(fmt.Sprintf("block%d/conv2", i+1), 3, out, out, true)
		if out > in {
			layer(fmt.Sprintf("block%d/shortcut", i+1), 1, in, out, n.shortcuts)
		}
		in = out
	}
	t.Params = append(t.Params, denseParams("dense", in, outputs(d))...)
	return lastDense(t, n.features), nil
}

// features is the network without its last layer, [C, B, channels].
func (n resNet) features(p []*Node, x *Node) *Node {
	next := func() (w *Node) {
		w, p = p[0], p[1:]
		return w
	}
	layer := func(name string, x *Node, stride int, normalized bool) *Node {
		y := Convolution{Name: name, Stride: stride, Same: true}.Of(x, next())
		if normalized {
			y = GroupNorm(y, next(), next(), n.groups)
		}
		return y
	}
	x = fedkit.NameLayer("conv", ReLU(layer("conv", x, 1, true)))
	in := n.channels[0]
	for i, out := range n.channels {
		name, stride := fmt.Sprintf("block%d", i+1), 1
		if out > in {
			stride = 2
		}
		y := ReLU(layer(name+"/conv1", x, stride, true))
		y = layer(name+"/conv2", y, 1, true)
		if stride > 1 {
			x = layer(name+"/shortcut", x, stride, n.shortcuts)
		}
		x, in = fedkit.NameLayer(name, ReLU(Add(x, y))), out
	}
	return ReduceMean(x, 2, 3)
}

// images refuses data that is not labeled images of at least this side.
func images(name string, d *datasets.Dataset, side int) error {
	if len(d.Shape) != 3 || d.Shape[0] < side || d.Shape[1] < side || !perExample(d) {
		return fedkit.Invalid(name+": data shape", d.Shape, fmt.Sprintf("labeled images [h w channels] with h and w ≥ %d%s", side, channelsLast(d)))
	}
	return nil
}

// channelsLast ends the errors about shapes that look as if channels came first.
func channelsLast(d *datasets.Dataset) string {
	if s := d.Shape; len(s) == 3 && (s[0] == 1 || s[0] == 3) && s[2] > 4 {
		return fmt.Sprintf("; channels come last, [%d %d %d]: NPY.ChannelsFirst moves them there", s[1], s[2], s[0])
	}
	return ""
}

// perExample reports whether examples have labels or tags, not one at each of several positions.
func perExample(d *datasets.Dataset) bool { return d.Labeled() || d.Tags }

// biasedParams are the parameters of convolutions with biases, one after the other: "conv1", "conv2", ….
func biasedParams(k, in int, channels ...int) (params []fedkit.Param) {
	for i, out := range channels {
		name := fmt.Sprintf("conv%d", i+1)
		params = append(params, convolutionParams(name, k, in, out), fedkit.Param{Name: name + "/biases", Shape: []int{out}})
		in = out
	}
	return params
}

// convolutionParams is the kernel of a convolution, initialized by He.
func convolutionParams(name string, k, in, out int) fedkit.Param {
	return fedkit.Param{Name: name + "/weights", Shape: []int{k, k, in, out}, Init: He(k * k * in)}
}
