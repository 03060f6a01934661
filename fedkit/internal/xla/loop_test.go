package xla_test

import (
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Loops inside loops, and the arithmetic of what they repeat.
func TestNestedLoops(t *testing.T) {
	p := xla.NewProgram("nested", func(in []*Node) []*Node {
		outer := xla.NewLoop(in[0].Graph())
		outer.Add("x", in[0])
		outer.Repeat(3, func(_ *Node, s *xla.Loop) {
			inner := xla.NewLoop(in[0].Graph())
			inner.Add("x", s.One("x"))
			inner.Repeat(4, func(t *Node, s *xla.Loop) {
				x := s.One("x")
				s.Set("x", Add(Dot(x, x).MatMul(), ConvertDType(t, dtypes.Float32)))
			})
			s.Set("x", inner.One("x"))
		})
		return []*Node{outer.One("x")}
	})
	out, err := p.Call([][]float32{{0}})
	expect.OK(t, err)
	// 0 → 0² + 0 = 0 → 1 → 1² + 2 = 3 → 3² + 3 = 12, and so on from there.
	want := float32(0)
	for range 3 {
		for i := range 4 {
			want = want*want + float32(i)
		}
	}
	if got := expect.Value(xla.Host(out[0]))(t); got[0] != want {
		t.Errorf("%v, want %v", got, want)
	}
	if w, err := p.Work(shapes.Make(dtypes.Float32, 1, 1)); err != nil || w.Operations != 2*12 {
		t.Errorf("%v operations, want 24; %v", w.Operations, err)
	}
}
