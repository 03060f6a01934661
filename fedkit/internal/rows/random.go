package rows

import (
	"math"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Normal returns a matrix [n, d] with independent values of N(0, 1). Row i is computed from the key i alone, on the device. It is
// padded to capacity rows, if there are fewer.
func Normal(keys []uint64, d, capacity int) *Matrix { return random(normals, keys, d, capacity) }

// Uniform is Normal with values of [0, 1), multiples of 2⁻²⁴.
func Uniform(keys []uint64, d, capacity int) *Matrix { return random(uniforms, keys, d, capacity) }

func random(of *Programs[int], keys []uint64, d, capacity int) *Matrix {
	if len(keys) == 0 || d < 1 {
		return failed("[%d, %d] is no shape of a matrix", len(keys), d)
	}
	halves := make([]uint32, 0, 2*max(len(keys), capacity))
	for i := range max(len(keys), capacity) { // padding repeats the first
		key := keys[0]
		if i < len(keys) {
			key = keys[i]
		}
		halves = append(halves, uint32(key>>32), uint32(key))
	}
	out, err := run(of.Of(d), []any{tensors.FromFlatDataAndDimensions(halves, len(halves)/2, 2)})
	if err != nil {
		return &Matrix{err: err}
	}
	return &Matrix{rows: len(keys), cols: d, padded: len(halves) / 2, t: out[0]}
}

var (
	uniforms = drawn("uniform", func(a, b *graph.Node) (x, y *graph.Node) {
		fraction := func(bits *graph.Node) *graph.Node {
			return graph.MulScalar(graph.ConvertDType(graph.BitwiseShiftRightLogicalScalar(bits, 8), dtypes.Float32), 0x1p-24)
		}
		return fraction(a), fraction(b)
	})
	// normals is the transform of Box and Muller.
	normals = drawn("normal", func(a, b *graph.Node) (x, y *graph.Node) {
		fraction := func(bits *graph.Node) *graph.Node { // in (0, 1]
			return graph.MulScalar(graph.AddScalar(graph.ConvertDType(bits, dtypes.Float32), 0.5), 0x1p-32)
		}
		length, angle := graph.Sqrt(graph.MulScalar(graph.Log(fraction(a)), -2)), graph.MulScalar(fraction(b), 2*math.Pi)
		return graph.Mul(length, graph.Cos(angle)), graph.Mul(length, graph.Sin(angle))
	})
)

// drawn returns the programs that draw d columns for keys [n, 2]. values turns random bits [n, ⌈d/2⌉], twice, into as many values.
func drawn(name string, values func(a, b *graph.Node) (x, y *graph.Node)) *Programs[int] {
	return NewPrograms(name, func(d int, in []*graph.Node) *graph.Node {
		keys := in[0]
		n, half := keys.Shape().Dim(0), (d+1)/2
		key := func(i int) *graph.Node {
			return graph.BroadcastToDims(graph.Slice(keys, graph.AxisRange(), graph.AxisRange(i, i+1)), n, half)
		}
		counter := graph.Iota(keys.Graph(), shapes.Make(dtypes.Uint32, n, half), 1)
		x, y := values(xla.Threefry(key(0), key(1), counter, graph.ZerosLike(counter)))
		return graph.Slice(graph.Concatenate([]*graph.Node{x, y}, 1), graph.AxisRange(), graph.AxisRange(0, d))
	})
}
