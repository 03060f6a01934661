package rows

import (
	"math"

	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Normal returns a matrix [n, d] with independent values of N(0, 1). Row i is computed from the key i alone, on the device. It has room
// for as many rows, if there are fewer.
func Normal(keys []uint64, d, room int) *Matrix { return random(normal, keys, d, room) }

// Uniform is Normal with values of [0, 1), multiples of 2⁻²⁴.
func Uniform(keys []uint64, d, room int) *Matrix { return random(uniform, keys, d, room) }

func random(of *randomness, keys []uint64, d, room int) *Matrix {
	if len(keys) == 0 || d < 1 {
		return failed("[%d, %d] is no shape of a matrix", len(keys), d)
	}
	halves := make([]uint32, 0, 2*max(len(keys), room))
	for i := range max(len(keys), room) { // spare rows repeat the first
		key := keys[0]
		if i < len(keys) {
			key = keys[i]
		}
		halves = append(halves, uint32(key>>32), uint32(key))
	}
	out, err := run(of.columns(d), []any{tensors.FromFlatDataAndDimensions(halves, len(halves)/2, 2)})
	if err != nil {
		return &Matrix{err: err}
	}
	return &Matrix{rows: len(keys), cols: d, t: out[0]}
}

// randomness turns random bits [n, ⌈d/2⌉], twice, into values [n, 2⌈d/2⌉].
type randomness struct {
	programs *lru.Cache[int, *xla.Program] // by d
	name     string
	values   func(a, b *graph.Node) (x, y *graph.Node)
}

var (
	uniform = &randomness{lru.New[int, *xla.Program](64), "uniform", func(a, b *graph.Node) (x, y *graph.Node) {
		fraction := func(bits *graph.Node) *graph.Node {
			return graph.MulScalar(graph.ConvertDType(graph.BitwiseShiftRightLogicalScalar(bits, 8), dtypes.Float32), 0x1p-24)
		}
		return fraction(a), fraction(b)
	}}
	// normal is the transform of Box and Muller.
	normal = &randomness{lru.New[int, *xla.Program](64), "normal", func(a, b *graph.Node) (x, y *graph.Node) {
		fraction := func(bits *graph.Node) *graph.Node { // in (0, 1]
			return graph.MulScalar(graph.AddScalar(graph.ConvertDType(bits, dtypes.Float32), 0.5), 0x1p-32)
		}
		length, angle := graph.Sqrt(graph.MulScalar(graph.Log(fraction(a)), -2)), graph.MulScalar(fraction(b), 2*math.Pi)
		return graph.Mul(length, graph.Cos(angle)), graph.Mul(length, graph.Sin(angle))
	}}
)

// columns returns the program of d columns.
func (r *randomness) columns(d int) *xla.Program {
	return r.programs.Get(d, func() *xla.Program {
		return NewProgram(r.name, func(in []*graph.Node) *graph.Node {
			keys := in[0] // [n, 2]
			n, half := keys.Shape().Dim(0), (d+1)/2
			key := func(i int) *graph.Node {
				return graph.BroadcastToDims(graph.Slice(keys, graph.AxisRange(), graph.AxisRange(i, i+1)), n, half)
			}
			counter := graph.Iota(keys.Graph(), shapes.Make(dtypes.Uint32, n, half), 1)
			x, y := r.values(xla.Threefry(key(0), key(1), counter, graph.ZerosLike(counter)))
			return graph.Slice(graph.Concatenate([]*graph.Node{x, y}, 1), graph.AxisRange(), graph.AxisRange(0, d))
		})
	})
}
