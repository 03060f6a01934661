package xla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// different has distinct numbers, in random order.
func different(rng *rand.Rand, dims ...int) *tensors.Tensor {
	n := shapes.Make(dtypes.Float32, dims...).Size()
	values := make([]float32, n)
	for i, v := range rng.Perm(n) {
		values[i] = float32(2*v-n) / float32(n)
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// looped computes a function of some tensors inside a loop of one step.
func looped(f func(in []*Node) []*Node) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		g := in[0].Graph()
		shaped := NewGraph(g.Backend(), "shapes")
		defer shaped.Finalize()
		s := NewLoop(g)
		s.Add("step", Const(g, []int32{0}))
		var there []*Node
		for i, n := range in {
			s.Add("in", n)
			there = append(there, Parameter(shaped, fmt.Sprint(i), n.Shape()))
		}
		for _, out := range f(there) {
			s.Add("out", BroadcastToDims(Const(g, []float32{0}), out.Shape().Dimensions...))
		}
		s.Run(func(s *Loop) *Node { return Reshape(LessThan(s.One("step"), Const(s.One("step").Graph(), []int32{1}))) }, func(s *Loop) {
			s.Set("out", f(s.All("in"))...)
			s.Set("step", AddScalar(s.One("step"), 1))
		})
		return s.All("out")
	}
}

// same fails unless a function and its gradient, rewritten and inside a loop, by oneDNN and without it, equal XLA's own outside of one.
func same(t *testing.T, f func(in []*Node) *Node, in ...any) {
	t.Helper()
	for _, by := range []func() string{Kernels, func() string { return "" }} {
		kernels = by
		sameBy(t, f, in)
	}
	kernels = Kernels
}

func sameBy(t *testing.T, f func(in []*Node) *Node, in []any) {
	t.Helper()
	b := expect.Value(Backend())(t)
	both := func(in []*Node) []*Node {
		y := f(in)
		at := Iota(y.Graph(), shapes.Make(dtypes.Float32, y.Shape().Size()), 0)
		loss := ReduceAllSum(Mul(Reshape(y, -1), Sin(MulScalar(at, 0.7))))
		return append([]*Node{y}, Gradient(loss, in...)...)
	}
	alone := MustNewExec(b, both)
	want := alone.MustCall(in...)
	got := expect.Value(NewProgram("looped", looped(both)).Call(in...))(t)
	for i, w := range want {
		a, b := tensors.MustCopyFlatData[float32](got[i]), tensors.MustCopyFlatData[float32](w)
		largest := 0.0
		for j := range b {
			largest = max(largest, math.Abs(float64(b[j])))
		}
		for j := range b {
			if d := math.Abs(float64(a[j] - b[j])); !(d <= 1e-5*max(1, largest)) {
				t.Fatalf("result %d of %d, %v at %d: %v, want %v", i, len(want), w.Shape(), j, a[j], b[j])
			}
		}
	}
}

// Rewritten convolutions of every kind, and their gradients, equal XLA's own.
func TestConvolutions(t *testing.T) {
	for _, c := range []struct {
		dims             []int // of x, after B: space, then channels
		kernel, channels int
		stride, dilation int
		pad              bool
		groups           int
	}{
		{[]int{8, 8, 3}, 5, 4, 1, 1, true, 1},
		{[]int{8, 8, 3}, 5, 4, 1, 1, false, 1},
		{[]int{9, 7, 2}, 3, 4, 2, 1, true, 1},
		{[]int{9, 7, 2}, 3, 4, 2, 1, false, 1},
		{[]int{9, 8, 2}, 3, 4, 3, 1, true, 1},
		{[]int{9, 9, 2}, 2, 4, 3, 1, false, 1}, // the last column is not read
		{[]int{8, 8, 4}, 1, 3, 1, 1, false, 1},
		{[]int{9, 7, 4}, 1, 3, 2, 1, false, 1},
		{[]int{10, 9, 2}, 3, 3, 1, 2, true, 1},
		{[]int{10, 9, 2}, 3, 3, 1, 2, false, 1},
		{[]int{8, 8, 4}, 3, 6, 1, 1, true, 2},
		{[]int{8, 8, 4}, 3, 4, 2, 1, true, 4}, // depthwise
		{[]int{12, 3}, 3, 4, 2, 1, true, 1},
		{[]int{12, 3}, 4, 4, 1, 1, true, 1},
		{[]int{6, 5, 4, 2}, 3, 3, 2, 1, true, 1},
		{[]int{40, 40, 16}, 5, 24, 1, 1, true, 1}, // in pieces
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			n := len(c.dims) - 1
			x := different(rng, append([]int{3}, c.dims...)...)
			var w []int
			for range n {
				w = append(w, c.kernel)
			}
			w = append(w, c.dims[n]/c.groups, c.channels)
			same(t, func(in []*Node) *Node {
				conv := Convolve(in[0], in[1]).Strides(c.stride).ChannelGroupCount(c.groups)
				if c.dilation > 1 {
					conv = conv.Strides(1).Dilations(c.dilation)
				}
				if c.pad {
					return conv.PadSame().Done()
				}
				return conv.NoPadding().Done()
			}, x, different(rng, w...))
		})
	}
}

// Rewritten poolings of every kind, and their gradients, equal XLA's own.
func TestPooling(t *testing.T) {
	kinds := map[string]func(*Node) *PoolBuilder{"max": MaxPool, "min": MinPool, "mean": MeanPool, "sum": SumPool}
	for name, pool := range kinds {
		for _, c := range []struct {
			h, w, window, stride int
			pad                  bool
		}{{8, 6, 2, 2, false}, {7, 9, 2, 2, false}, {8, 8, 3, 2, false}, {9, 9, 3, 3, false}, {8, 8, 3, 1, true}, {12, 12, 6, 6, false}} {
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				same(t, func(in []*Node) *Node {
					p := pool(in[0]).Window(c.window).Strides(c.stride)
					if c.pad {
						return p.PadSame().Done()
					}
					return p.NoPadding().Done()
				}, different(rand.New(rand.NewPCG(1, 2)), 2, c.h, c.w, 3))
			})
		}
	}
}

var _ compute.Function = function{}
