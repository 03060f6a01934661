package xla_test

import (
	"strings"
	"testing"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

func TestArithmetic(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments [][]int
		build     func(in []*Node) *Node
		want      float64
	}{
		{"product [3, 5]·[5, 7]", [][]int{{3, 5}, {5, 7}},
			func(in []*Node) *Node { return Dot(in[0], in[1]).Product() }, 2 * 3 * 5 * 7},
		{"batch of products", [][]int{{4, 3, 5}, {4, 5, 7}},
			func(in []*Node) *Node { return Einsum("bij,bjk->bik", in[0], in[1]) }, 2 * 4 * 3 * 5 * 7},
		{"two axes contracted", [][]int{{2, 3, 5}, {2, 3, 7}},
			func(in []*Node) *Node { return Einsum("abi,abj->ij", in[0], in[1]) }, 2 * 2 * 3 * 5 * 7},
		{"outer product", [][]int{{3}, {7}},
			func(in []*Node) *Node { return Einsum("i,j->ij", in[0], in[1]) }, 2 * 3 * 7},
		{"convolution 3×3", [][]int{{2, 8, 8, 4}, {3, 3, 4, 5}}, // outputs [2, 6, 6, 5]
			func(in []*Node) *Node { return Convolve(in[0], in[1]).NoPadding().Done() }, 2 * (2 * 6 * 6 * 5) * (3 * 3 * 4)},
		{"convolution with a stride, in 2 groups", [][]int{{1, 9, 9, 4}, {3, 3, 2, 6}}, // outputs [1, 4, 4, 6]
			func(in []*Node) *Node {
				return Convolve(in[0], in[1]).NoPadding().Strides(2).ChannelGroupCount(2).Done()
			}, 2 * (4 * 4 * 6) * (3 * 3 * 2)},
		{"elementwise work", [][]int{{100}, {100}},
			func(in []*Node) *Node { return Tanh(Mul(in[0], in[1])) }, 0},
		{"loop of 9 products", [][]int{{3, 5}, {5, 5}},
			func(in []*Node) *Node {
				s := xla.NewLoop(in[0].Graph())
				s.Add("x", in[0])
				s.Add("w", in[1])
				s.Repeat(9, func(_ *Node, s *xla.Loop) { s.Set("x", Dot(s.One("x"), s.One("w")).Product()) })
				return s.One("x")
			}, 9 * 2 * 3 * 5 * 5},
	} {
		var arguments []shapes.Shape
		for _, dims := range test.arguments {
			arguments = append(arguments, shapes.Make(dtypes.Float32, dims...))
		}
		p := xla.NewProgram(test.name, func(in []*Node) []*Node { return []*Node{test.build(in)} })
		convolved := 0.0
		if strings.HasPrefix(test.name, "convolution") {
			convolved = test.want
		}
		if got, err := p.Work(arguments...); err != nil || got.Operations != test.want || got.Convolutions != convolved || got.Loops != strings.HasPrefix(test.name, "loop") {
			t.Errorf("%s: %+v, want %v operations and %v of convolutions; %v", test.name, got, test.want, convolved, err)
		}
	}
}
