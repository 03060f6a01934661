package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// Threefry is Threefry-2x32-20 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011): the same bits on any device.
func Threefry(k0, k1, x0, x1 *graph.Node) (*graph.Node, *graph.Node) {
	const parity = 0x1BD11BDA
	keys := [3]*graph.Node{k0, k1, graph.BitwiseXor(graph.BitwiseXor(k0, k1), graph.Scalar(k0.Graph(), dtypes.Uint32, uint32(parity)))}
	turns := [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}
	x0, x1 = graph.Add(x0, keys[0]), graph.Add(x1, keys[1])
	for i := range 5 {
		for _, by := range turns[i%2] {
			x0 = graph.Add(x0, x1)
			x1 = graph.BitwiseXor(graph.BitwiseOr(graph.BitwiseShiftLeftScalar(x1, by), graph.BitwiseShiftRightLogicalScalar(x1, 32-by)), x0)
		}
		x0, x1 = graph.Add(x0, keys[(i+1)%3]), graph.AddScalar(graph.Add(x1, keys[(i+2)%3]), uint32(i+1))
	}
	return x0, x1
}
