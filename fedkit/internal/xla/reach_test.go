package xla_test

import (
	"fmt"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// What the first row's first result depends on: rows 0 and 1 of the first client are bits 0 and 1, those of the other one 2 and 3.
func TestReach(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(x, w *Node) *Node // x [2, rows, 4], w [2, 4, 3]
		want uint8
	}{
		"product":            {func(x, w *Node) *Node { return DotGeneral(x, []int{2}, []int{0}, w, []int{1}, []int{0}) }, 1},
		"no row":             {func(x, w *Node) *Node { return Sub(w, ReduceAndKeep(w, ReduceSum, 1)) }, 0},
		"mean of rows":       {func(x, _ *Node) *Node { return Sub(x, ReduceAndKeep(x, ReduceMean, 1)) }, 3 | xla.Rows},
		"sum of clients":     {func(x, _ *Node) *Node { return Sub(x, ReduceAndKeep(x, ReduceSum, 0)) }, 5},
		"everything":         {func(x, _ *Node) *Node { return Mul(x, ReduceAllSum(x)) }, 15 | xla.Rows},
		"number of rows":     {func(x, _ *Node) *Node { return DivScalar(x, float64(x.Shape().Dim(1))) }, 1 | xla.Rows},
		"count":              {func(x, _ *Node) *Node { return Mul(x, ReduceAndKeep(OnesLike(x), ReduceSum, 1)) }, 1 | xla.Rows},
		"place from the end": {func(x, _ *Node) *Node { return Add(x, SliceAxis(x, 1, AxisRange(-1))) }, 15 | xla.Rows},
		"next row":           {func(x, _ *Node) *Node { return Concatenate([]*Node{SliceAxis(x, 1, AxisRange(1, 2)), x}, 1) }, 15 | xla.Rows},
		"softmax":            {func(x, _ *Node) *Node { return Softmax(x, -1) }, 1},
		"there and back": {func(x, _ *Node) *Node {
			return Reshape(MulScalar(Transpose(Reshape(x, -1, 4), 0, 1), 2), x.Shape().Dim(2), 2, -1)
		}, 1},
		"pairs": {func(x, _ *Node) *Node {
			return DotGeneral(x, []int{2}, []int{0}, x, []int{2}, []int{0})
		}, 1},
		"loop": {func(x, _ *Node) *Node {
			s := xla.NewLoop(x.Graph())
			s.Add("x", x)
			s.Repeat(2, func(_ *Node, s *xla.Loop) { s.Set("x", Tanh(s.One("x"))) })
			return s.One("x")
		}, 0xff},
	} {
		p := xla.NewProgram(name, func(in []*Node) []*Node {
			y := c.of(in[0], in[1])
			var axes []SliceAxisSpec
			for range y.Rank() {
				axes = append(axes, AxisElem(0))
			}
			return []*Node{Slice(y, axes...)}
		})
		shape := func(rows int) []shapes.Shape {
			return []shapes.Shape{shapes.Make(dtypes.Float32, 2, rows, 4), shapes.Make(dtypes.Float32, 2, 4, 3)}
		}
		got := expect.Value(p.Reach(shape(2), shape(3), 0))(t)
		if want := []uint8{c.want}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %b, want %b", name, got, want)
		}
	}
}

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
