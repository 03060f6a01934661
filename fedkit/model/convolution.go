package model

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Convolution is the convolution of an image; zero fields are the defaults. Axes and padding are those of GoMLX's layers.Convolution. On
// a CPU oneDNN computes it and its gradients, as those of GoMLX's own layers, or else XLA in another form, see scripts/bench.md; on a GPU
// it is one matrix product of all clients, in float32, unless it has Groups. The environment variable FEDKIT_CONVOLUTIONS=onednn, native,
// rewritten or patches overrides this.
type Convolution struct {
	Name     string // of the layer, for errors
	Stride   int    // pixels between positions of the kernel; default 1
	Dilation int    // pixels between numbers of the kernel; default 1. At most one of Stride and Dilation is more than 1
	Groups   int    // groups of channels, each with its own output channels; default 1
	Same     bool   // pad with zeros so that, with stride 1, the result is as large as x: (k−1)/2 pixels before and k/2 after
}

// Of convolves for each client: x [C, B, h, w, i], or [1, B, h, w, i] if all clients see the same; w [C, k, l, i/Groups, o]. The result
// is [C, B, h', w', o], with h' = ⌊(h + padding − (k−1)·Dilation − 1) / Stride⌋ + 1. Shapes that do not fit panic, as is usual while a
// graph is built; fedkit.New returns that as its error.
func (c Convolution) Of(x, w *Node) *Node {
	c.Stride, c.Dilation, c.Groups = max(1, c.Stride), max(1, c.Dilation), max(1, c.Groups)
	xd, wd := x.Shape().Dimensions, w.Shape().Dimensions
	refuse := func(what string, value any, allowed string) {
		panic(fedkit.Invalid(fmt.Sprintf("convolution %s: %s", c.Name, what), value, allowed))
	}
	switch {
	case len(xd) != 5:
		refuse("x", xd, "[C B h w channels]")
	case len(wd) != 5 || xd[0] != wd[0] && xd[0] != 1:
		refuse("w", wd, fmt.Sprintf("[%d k l channels/Groups outputs]", xd[0]))
	case c.Stride > 1 && c.Dilation > 1:
		refuse("Dilation", c.Dilation, "1, since Stride is more")
	case xd[4]%c.Groups != 0 || wd[4]%c.Groups != 0:
		refuse("Groups", c.Groups, fmt.Sprintf("a divisor of the channels of x and of the result, %d and %d", xd[4], wd[4]))
	case wd[3] != xd[4]/c.Groups:
		refuse("w", wd, fmt.Sprintf("[… %d %d], as x has %d channels", xd[4]/c.Groups, wd[4], xd[4]))
	}
	var paddings [][2]int
	for a := range 2 {
		seen, p := (wd[1+a]-1)*c.Dilation+1, [2]int{}
		if c.Same {
			p = [2]int{(seen - 1) / 2, seen / 2}
		}
		if size := xd[2+a] + p[0] + p[1]; size < seen {
			refuse("kernel", wd[1:3], fmt.Sprintf("at most %d pixels, as x has with its padding", size))
		}
		paddings = append(paddings, p)
	}
	if c.Groups == 1 && xla.Form() == xla.Patches {
		return c.patches(x, w, paddings)
	}
	return c.each(x, w, paddings)
}

// patches computes the convolution of all clients as one matrix product, of the pixels that each position of the kernel sees.
func (c Convolution) patches(x, w *Node, paddings [][2]int) *Node {
	wd := w.Shape().Dimensions
	for a, p := range paddings {
		x = zeros(x, 2+a, p)
	}
	x = BroadcastToDims(x, append([]int{wd[0]}, x.Shape().Dimensions[1:]...)...)
	xd := x.Shape().Dimensions
	rows, columns := (xd[2]-(wd[1]-1)*c.Dilation-1)/c.Stride+1, (xd[3]-(wd[2]-1)*c.Dilation-1)/c.Stride+1
	seen := func(at, n int) SliceAxisSpec { // by one position of the kernel along an axis
		at *= c.Dilation
		return AxisRange(at, at+(n-1)*c.Stride+1).Stride(c.Stride)
	}
	var all []*Node
	for k := range wd[1] {
		for l := range wd[2] {
			all = append(all, Slice(x, AxisRange(), AxisRange(), seen(k, rows), seen(l, columns)))
		}
	}
	each := wd[1] * wd[2] * wd[3]
	y := DotGeneral(Reshape(Concatenate(all, -1), wd[0], -1, each), []int{2}, []int{0}, Reshape(w, wd[0], each, wd[4]), []int{1}, []int{0})
	return Reshape(y, wd[0], xd[1], rows, columns, wd[4])
}

// zeros pads an axis with zeros.
func zeros(x *Node, axis int, padding [2]int) *Node {
	var parts []*Node
	for i, n := range padding {
		if d := slices.Clone(x.Shape().Dimensions); n > 0 {
			d[axis] = n
			parts = append(parts, Zeros(x.Graph(), shapes.Make(x.DType(), d...)))
		}
		if i == 0 {
			parts = append(parts, x)
		}
	}
	return concatenate(parts, axis)
}

// each computes a convolution for every client.
func (c Convolution) each(x, w *Node, paddings [][2]int) *Node {
	xd, wd := x.Shape().Dimensions, slices.Clone(w.Shape().Dimensions)
	paddings = slices.Clone(paddings)
	for a := range paddings {
		if wd[1+a]%2 == 0 { // GoMLX v0.28.1 shifts the gradient of a kernel with an even size; one more zero changes nothing
			w = zeros(w, 1+a, [2]int{0, 1})
			paddings[a][1] += c.Dilation
		}
	}
	clients := make([]*Node, wd[0])
	for i := range clients {
		conv := Convolve(client(x, min(i, xd[0]-1)), client(w, i)).PaddingPerDim(paddings).ChannelGroupCount(c.Groups)
		if c.Dilation > 1 {
			conv = conv.Dilations(c.Dilation)
		} else {
			conv = conv.Strides(c.Stride)
		}
		clients[i] = InsertAxes(conv.Done(), 0)
	}
	return concatenate(clients, 0)
}

// client is the slice of one client.
func client(v *Node, i int) *Node { return Squeeze(SliceAxis(v, 0, AxisElem(i)), 0) }

// concatenate is Concatenate, of one node too.
func concatenate(parts []*Node, axis int) *Node {
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, axis)
}

// MaxPooling is max pooling over adjacent size × size windows for each client: [C, B, h, w, ch] → [C, B, ⌊h/size⌋, ⌊w/size⌋, ch].
// Leftover rows and columns are dropped. At a tie the gradient goes to the first, row by row.
func MaxPooling(x *Node, size int) *Node {
	d := x.Shape().Dimensions
	y := MaxPool(Reshape(x, d[0]*d[1], d[2], d[3], d[4])).Window(size).NoPadding().Done()
	return Reshape(y, append([]int{d[0], d[1]}, y.Shape().Dimensions[1:]...)...)
}

// GroupNorm normalizes each example's channels in groups (Wu and He, arXiv 1803.08494) for each client: over the pixels and channels of a
// group,
//
//	y = gain ⊙ (x − mean) / √(variance + 10⁻⁵) + offset,
//
// x [C or 1, B, h, w, ch], gain and offset [C, ch].
func GroupNorm(x, gain, offset *Node, groups int) *Node {
	d := x.Shape().Dimensions
	pixels, ch := d[2]*d[3], d[4]
	if groups < 1 || ch%groups != 0 {
		panic(fedkit.Invalid("group normalization: groups", groups, fmt.Sprintf("a divisor of the channels, %d", ch)))
	}
	flat := Reshape(OptimizationBarrier(x), d[0], d[1], pixels, ch) // else XLA computes x again for every sum
	mean := func(v *Node) *Node {                                   // of each group, for its channels: [C, B, 1, ch]
		sums := ReduceSum(Reshape(ReduceSum(v, 2), d[0], d[1], groups, ch/groups), 3)
		return Reshape(BroadcastToDims(InsertAxes(MulScalar(sums, 1/float64(pixels*ch/groups)), -1), d[0], d[1], groups, ch/groups), d[0], d[1], 1, ch)
	}
	m := mean(flat)
	v := mean(Square(Sub(flat, StopGradient(m)))) // its derivative by the mean is 0
	// With one factor and one term for all pixels of a channel, gradients take two sums over the pixels, and not four.
	factor := Div(InsertAxes(gain, 1, 1), Sqrt(AddScalar(v, 1e-5)))
	y := Add(Mul(flat, factor), Sub(InsertAxes(offset, 1, 1), Mul(m, factor)))
	return Reshape(y, append([]int{y.Shape().Dim(0)}, d[1:]...)...)
}
