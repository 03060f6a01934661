package xla

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// window is the window of a pooling operation: unpadded, and of so few positions that each can be an operation.
type window struct {
	of, out       shapes.Shape
	size, strides []int
	places        [][]int // positions in the window, the last axis fastest
}

// pooling returns the window of a pooling operation; nil if it is not rewritten: padded, or of many positions, say.
func (f function) pooling(x compute.Value, size, strides []int, paddings [][2]int) *window {
	shape, err := f.Shape(x)
	if !f.rewrites || err != nil || shape.DType != dtypes.Float32 || len(size) != shape.Rank() {
		return nil
	}
	if len(strides) == 0 {
		strides = size
	}
	w := &window{of: shape, out: shape.Clone(), size: size, strides: strides}
	places := 1
	for a, s := range size {
		if places *= s; len(paddings) > 0 && paddings[a] != [2]int{} || s > shape.Dimensions[a] || places > 25 {
			return nil
		}
		w.out.Dimensions[a] = (shape.Dimensions[a]-s)/strides[a] + 1
	}
	w.places = grid(size)
	return w
}

// slice returns the values at one position of every window.
func (w *window) slice(c *chain, x compute.Value, place []int) compute.Value {
	limits := make([]int, len(place))
	for a, p := range place {
		limits[a] = p + (w.out.Dimensions[a]-1)*w.strides[a] + 1
	}
	return c.do(c.f.Slice(x, place, limits, w.strides))
}

// ReduceWindow pools by an elementwise maximum, minimum or sum over the positions of the window.
func (f function) ReduceWindow(x compute.Value, kind compute.ReduceOpType, size, strides, inputDilations, windowDilations []int,
	paddings [][2]int) (compute.Value, error) {
	join := map[compute.ReduceOpType]func(a, b compute.Value) (compute.Value, error){
		compute.ReduceOpMax: f.Max, compute.ReduceOpMin: f.Min, compute.ReduceOpSum: f.Add}[kind]
	w := f.pooling(x, size, strides, paddings)
	if join == nil || w == nil || len(inputDilations)+len(windowDilations) > 0 {
		return f.Function.ReduceWindow(x, kind, size, strides, inputDilations, windowDilations, paddings)
	}
	c := &chain{f: f}
	y := w.slice(c, x, w.places[0])
	for _, p := range w.places[1:] {
		y = c.do(join(y, w.slice(c, x, p)))
	}
	return y, c.err
}

// SelectAndScatterMax routes every gradient to the first maximum of its window. XLA would scatter them one by one.
func (f function) SelectAndScatterMax(x, v compute.Value, size, strides []int, paddings [][2]int) (compute.Value, error) {
	w := f.pooling(x, size, strides, paddings)
	if w == nil || !slices.Equal(w.size, w.strides) {
		return f.Function.SelectAndScatterMax(x, v, size, strides, paddings)
	}
	c := &chain{f: f}
	best, first := w.slice(c, x, w.places[0]), full(c, int32(0), w.out.Dimensions...)
	for i, p := range w.places[1:] {
		now := w.slice(c, x, p)
		larger := c.do(f.GreaterThan(now, best))
		best, first = c.do(f.Where(larger, now, best)), c.do(f.Where(larger, full(c, int32(i+1), w.out.Dimensions...), first))
	}
	// Each pooled axis becomes two: across windows and within one.
	var tiled, kept []int
	for a, s := range w.size {
		kept = append(kept, len(tiled))
		if tiled = append(tiled, w.out.Dimensions[a]); s > 1 {
			tiled = append(tiled, s)
		}
	}
	spread := func(v compute.Value, t dtypes.DType) compute.Value {
		return c.do(f.BroadcastInDim(v, shapes.Make(t, tiled...), kept))
	}
	place, step := full(c, int32(0), tiled...), 1
	for a := len(w.size) - 1; a >= 0; a-- {
		if s := w.size[a]; s > 1 {
			at := c.do(f.Iota(shapes.Make(dtypes.Int32, tiled...), kept[a]+1))
			place = c.do(f.Add(place, c.do(f.Mul(at, full(c, int32(step), tiled...)))))
			step *= s
		}
	}
	zero := full(c, float32(0), tiled...)
	d := c.do(f.Where(c.do(f.Equal(place, spread(first, dtypes.Int32))), spread(v, dtypes.Float32), zero))
	whole := slices.Clone(w.out.Dimensions)
	pad, rest := make([]compute.PadAxis, len(whole)), false
	for a := range whole {
		whole[a] *= w.size[a]
		pad[a].End = w.of.Dimensions[a] - whole[a]
		rest = rest || pad[a].End > 0
	}
	if d = c.do(f.Reshape(d, whole...)); rest {
		d = c.do(f.Pad(d, c.do(f.Constant([]float32{0})), pad...))
	}
	return d, c.err
}
