package engine

import (
	"math"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Augment changes the images of a batch at random: see fedkit.Augment. The zero value does not.
type Augment struct {
	Crop  int
	Flip  bool
	Noise float64
}

// of returns the images x [C, B, height, width, channels], changed by the random bits of the lanes and the step, key [C, 3] uint64. Each
// number drawn is of a lane, a step and a place in the batch alone.
func (a Augment) of(x, key *graph.Node) *graph.Node {
	g, dims := x.Graph(), x.Shape().Dimensions
	words := graph.ConvertDType(key, dtypes.Uint32) // the lower halves
	draw := func(use, n int) (u, v *graph.Node) {   // [C, n] each
		word := func(i int) *graph.Node {
			return graph.BroadcastToDims(graph.Slice(words, graph.AxisRange(), graph.AxisElem(i)), dims[0], n)
		}
		return xla.Threefry(word(0), word(1), graph.Iota(g, shapes.Make(dtypes.Uint32, dims[0], n), 1), graph.AddScalar(word(2), uint32(1<<31+use))) // not what models draw
	}
	upTo := func(bits *graph.Node, n int) *graph.Node { // [C, B, 1, 1] in [0, n)
		own := graph.Mod(bits, graph.Scalar(g, dtypes.Uint32, uint32(n)))
		return graph.ConvertDType(graph.Reshape(own, dims[0], dims[1], 1, 1), dtypes.Int32)
	}
	if a.Crop > 0 || a.Flip {
		grid := shapes.Make(dtypes.Int32, dims[:4]...)
		down, across := draw(0, dims[1])
		turned, _ := draw(1, dims[1])
		at := []*graph.Node{graph.Iota(g, grid, 0), graph.Iota(g, grid, 1), graph.Iota(g, grid, 2), graph.Iota(g, grid, 3)}
		if a.Flip {
			turned = graph.BroadcastToDims(upTo(turned, 2), dims[:4]...)
			at[3] = graph.Where(graph.Equal(turned, graph.OnesLike(turned)), graph.Sub(graph.Scalar(g, dtypes.Int32, dims[3]-1), at[3]), at[3])
		}
		at[2] = graph.Add(at[2], graph.AddScalar(upTo(down, 2*a.Crop+1), -a.Crop))
		at[3] = graph.Add(at[3], graph.AddScalar(upTo(across, 2*a.Crop+1), -a.Crop))
		y, z := graph.ClipScalar(at[2], 0, float64(dims[2]-1)), graph.ClipScalar(at[3], 0, float64(dims[3]-1))
		inside := graph.LogicalAnd(graph.Equal(y, at[2]), graph.Equal(z, at[3]))
		moved := graph.Gather(x, graph.Stack([]*graph.Node{at[0], at[1], y, z}, -1))
		x = graph.Where(graph.BroadcastToDims(graph.InsertAxes(inside, -1), dims...), moved, graph.ZerosLike(moved))
	}
	if a.Noise > 0 {
		u, v := draw(2, size(dims[1:]))
		unit := func(bits *graph.Node) *graph.Node { // (0, 1)
			bits = graph.ConvertDType(graph.BitwiseShiftRightLogicalScalar(bits, 8), dtypes.Float32)
			return graph.MulScalar(graph.AddScalar(bits, 0.5), 0x1p-24)
		}
		normal := graph.Mul(graph.Sqrt(graph.MulScalar(graph.Log(unit(u)), -2)), graph.Cos(graph.MulScalar(unit(v), 2*math.Pi)))
		x = graph.Add(x, graph.MulScalar(graph.Reshape(normal, dims...), a.Noise))
	}
	return x
}
