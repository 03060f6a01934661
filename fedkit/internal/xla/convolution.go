package xla

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// ConvGeneral rewrites a convolution into a fast form. XLA has a fast one for one layout, and transposes others to it, but not
// inside a loop: a gradient would be computed by scalar code there.
func (f function) ConvGeneral(x, w compute.Value, axes compute.ConvolveAxesConfig, strides []int, paddings [][2]int,
	inputDilations, kernelDilations []int, groups, batchGroups int) (compute.Value, error) {
	if s, err := f.Shape(x); !f.rewrites || err != nil || batchGroups > 1 || s.DType != dtypes.Float32 {
		return f.Function.ConvGeneral(x, w, axes, strides, paddings, inputDilations, kernelDilations, groups, batchGroups)
	}
	n := len(axes.InputSpatial)
	c := convolution{chain: &chain{f: f}, x: x, w: w, groups: max(1, groups), strides: orDefault(strides, n, 1), paddings: orDefault(paddings, n, [2]int{}),
		input: orDefault(inputDilations, n, 1), kernel: orDefault(kernelDilations, n, 1)}
	if name := kernels(); name != "" {
		if y := c.byKernel(name, axes); y != nil || c.err != nil {
			return y, c.err
		}
	}
	var y compute.Value
	if c.sums(axes) {
		y = c.products()
	} else {
		c.x = c.transpose(x, slices.Concat([]int{axes.InputBatch}, axes.InputSpatial, []int{axes.InputChannels}))
		c.w = c.transpose(w, slices.Concat(axes.KernelSpatial, []int{axes.KernelInputChannels, axes.KernelOutputChannels}))
		y = c.channelsLast()
	}
	back := make([]int, n+2)
	for i, axis := range slices.Concat([]int{axes.OutputBatch}, axes.OutputSpatial, []int{axes.OutputChannels}) {
		back[axis] = i
	}
	return c.transpose(y, back), c.err
}

func orDefault[T any](of []T, n int, value T) []T {
	if len(of) == 0 {
		return slices.Repeat([]T{value}, n)
	}
	return of
}

// convolution is a convolution in channels-last layout: x [B, space…, i], w [space…, i, o]; result [B, space…, o].
type convolution struct {
	*chain
	x, w                   compute.Value
	groups                 int
	strides, input, kernel []int // by spatial axis: strides, and dilations of x and w
	paddings               [][2]int
}

// spatial returns the spatial shape of the result, for those of x and w.
func (c *convolution) spatial(x, w []int) []int {
	out := make([]int, len(c.strides))
	for a := range out {
		out[a] = ((x[a]-1)*c.input[a]+1+c.paddings[a][0]+c.paddings[a][1]-(w[a]-1)*c.kernel[a]-1)/c.strides[a] + 1
	}
	return out
}

func all[T comparable](of []T, value T) bool {
	return !slices.ContainsFunc(of, func(v T) bool { return v != value })
}

func product(of []int) int {
	n := 1
	for _, v := range of {
		n *= v
	}
	return n
}

// sums reports whether this is the gradient of a kernel, [space…, i, B] with [space…, i, o], and faster as one matrix product per
// position of the result: if there is one position, or the kernel is dilated.
func (c *convolution) sums(axes compute.ConvolveAxesConfig) bool {
	n := len(c.strides)
	x, w := c.dims(c.x), c.dims(c.w)
	if c.err != nil || c.groups > 1 || !all(c.input, 1) || axes.InputBatch != n+1 || axes.KernelOutputChannels != n+1 ||
		axes.InputChannels != axes.KernelInputChannels || !slices.Equal(axes.InputSpatial, axes.KernelSpatial) || axes.InputChannels != 0 {
		return false
	}
	places := product(c.spatial(x[1:], w[1:]))
	return places == 1 || places <= 25 && !all(c.kernel, 1)
}

// products computes each position of the result as a product of x [i, space…, B] and w [i, space…, o], in their own layout.
func (c *convolution) products() compute.Value {
	x, w := c.dims(c.x), c.dims(c.w)
	n := len(c.strides)
	out := c.spatial(x[1:], w[1:])
	padded, rows := c.pad(c.x, 1, c.paddings), product(w[:n+1])
	flat := c.do(c.f.Reshape(c.w, rows, w[n+1]))
	var sums []compute.Value
	for _, place := range grid(out) {
		from, to, step := make([]int, n+2), append([]int{x[0]}, make([]int, n+1)...), slices.Repeat([]int{1}, n+2)
		to[n+1] = x[n+1]
		for a, p := range place {
			from[a+1] = p * c.strides[a]
			to[a+1], step[a+1] = from[a+1]+(w[a+1]-1)*c.kernel[a]+1, c.kernel[a]
		}
		seen := c.do(c.f.Reshape(c.do(c.f.Slice(padded, from, to, step)), rows, x[n+1]))
		sums = append(sums, c.do(c.f.Reshape(c.dot(seen, 0, flat), 1, x[n+1], w[n+1])))
	}
	y := c.do(c.f.Reshape(c.do(c.f.Concatenate(0, sums...)), slices.Concat(out, []int{x[n+1], w[n+1]})...))
	order := []int{n}
	for a := range n {
		order = append(order, a)
	}
	return c.transpose(y, append(order, n+1))
}

// channelsLast computes the convolution in channels-last layout.
func (c *convolution) channelsLast() compute.Value {
	x, w := c.dims(c.x), c.dims(c.w)
	n := len(c.strides)
	switch {
	case c.err != nil:
		return nil
	case !all(c.input, 1) && all(c.kernel, 1) && all(c.strides, 1) && c.groups == 1:
		return c.phases(x[1:n+1], w[:n])
	case all(w[:n], 1) && all(c.input, 1) && c.groups == 1 && all(c.paddings, [2]int{}):
		return c.pointwise(x, w)
	}
	return c.do(c.f.Function.ConvGeneral(c.x, c.w, lastChannels(n), c.strides, c.paddings, c.input, c.kernel, c.groups, 1))
}

// lastChannels is the layout for which XLA has a fast convolution.
func lastChannels(space int) (a compute.ConvolveAxesConfig) {
	for i := range space {
		a.InputSpatial = append(a.InputSpatial, i+1)
		a.KernelSpatial = append(a.KernelSpatial, i)
	}
	a.OutputSpatial = a.InputSpatial
	a.InputChannels, a.OutputChannels = space+1, space+1
	a.KernelInputChannels, a.KernelOutputChannels = space, space+1
	return a
}

// pointwise computes a convolution whose kernel has one position as a matrix product.
func (c *convolution) pointwise(x, w []int) compute.Value {
	n := len(c.strides)
	out := slices.Concat(x[:1], c.spatial(x[1:], w), w[n+1:])
	seen := c.x
	if !all(c.strides, 1) {
		seen = c.do(c.f.Slice(c.x, make([]int, n+2), x, slices.Concat([]int{1}, c.strides, []int{1})))
	}
	y := c.dot(c.do(c.f.Reshape(seen, product(out[:n+1]), w[n])), 1, c.do(c.f.Reshape(c.w, w[n], w[n+1])))
	return c.do(c.f.Reshape(y, out...))
}

// phases computes the input gradient of a strided convolution, in which x is dilated: s − 1 zeros after every number, by axis.
// Positions of the result with the same remainder by s meet the same part of the kernel, and no zeros: one convolution per
// remainder.
func (c *convolution) phases(x, w []int) compute.Value {
	n, s := len(c.strides), c.input
	out := c.spatial(x, w)
	each := make([]int, n) // spatial shape of a phase
	for a := range n {
		each[a] = (out[a] + s[a] - 1) / s[a]
	}
	parts := grid(s)
	values := make([]compute.Value, len(parts))
	dims := c.dims(c.x)
	channels := c.dims(c.w)
	for i, remainder := range parts {
		from, taps, paddings := make([]int, n+2), make([]int, n), make([][2]int, n)
		empty := false
		for a, r := range remainder {
			low := c.paddings[a][0] - r
			from[a] = ((low % s[a]) + s[a]) % s[a]
			if taps[a] = (w[a] - from[a] + s[a] - 1) / s[a]; w[a] <= from[a] {
				empty = true
			}
			paddings[a][0] = (low - from[a]) / s[a]
			paddings[a][1] = each[a] - x[a] - paddings[a][0] + taps[a] - 1
		}
		if empty {
			values[i] = full(c.chain, float32(0), slices.Concat(dims[:1], each, channels[n+1:])...)
			continue
		}
		part := c.do(c.f.Slice(c.w, from, channels, slices.Concat(s, []int{1, 1})))
		one := slices.Repeat([]int{1}, n)
		phase := convolution{chain: c.chain, x: c.pad(c.x, 1, crops(paddings)), w: part, groups: 1, strides: one, input: one, kernel: one, paddings: paddings}
		values[i] = phase.channelsLast()
	}
	return c.interleave(values, s, out)
}

// crops splits off the negative paddings, which are crops.
func crops(paddings [][2]int) [][2]int {
	less := make([][2]int, len(paddings))
	for a := range paddings {
		for end := range 2 {
			less[a][end] = min(0, paddings[a][end])
			paddings[a][end] -= less[a][end]
		}
	}
	return less
}

// interleave joins the phases, those of the last axis adjacent, and crops each axis to out.
func (c *convolution) interleave(phases []compute.Value, s, out []int) compute.Value {
	for a := len(s) - 1; a >= 0; a-- {
		var joined []compute.Value
		for group := range slices.Chunk(phases, s[a]) {
			dims := c.dims(group[0])
			if c.err != nil {
				return nil
			}
			var columns []compute.Value
			for _, v := range group {
				columns = append(columns, c.do(c.f.Reshape(v, slices.Insert(slices.Clone(dims), a+2, 1)...)))
			}
			y := columns[0]
			if len(columns) > 1 {
				y = c.do(c.f.Concatenate(a+2, columns...))
			}
			dims = slices.Clone(dims)
			dims[a+1] *= s[a]
			y = c.do(c.f.Reshape(y, dims...))
			if dims[a+1] > out[a] {
				dims[a+1] = out[a]
				y = c.do(c.f.Slice(y, make([]int, len(dims)), dims, nil))
			}
			joined = append(joined, y)
		}
		phases = joined
	}
	return phases[0]
}

// pad pads axes from the given one on; negative paddings crop.
func (c *convolution) pad(x compute.Value, from int, paddings [][2]int) compute.Value {
	if all(paddings, [2]int{}) || c.err != nil {
		return x
	}
	axes := make([]compute.PadAxis, len(c.dims(x)))
	for a, p := range paddings {
		axes[from+a] = compute.PadAxis{Start: p[0], End: p[1]}
	}
	return c.do(c.f.Pad(x, c.do(c.f.Constant([]float32{0})), axes...))
}

// dot is the product of two matrices, contracting an axis of a with the first of b.
func (c *convolution) dot(a compute.Value, axis int, b compute.Value) compute.Value {
	return c.do(c.f.DotGeneral(a, []int{axis}, nil, b, []int{0}, nil, compute.DotGeneralConfig{}))
}

// grid lists all positions in a box, the last axis fastest.
func grid(extent []int) [][]int {
	places := [][]int{{}}
	for _, e := range extent {
		var next [][]int
		for _, p := range places {
			for i := range e {
				next = append(next, append(slices.Clone(p), i))
			}
		}
		places = next
	}
	return places
}
