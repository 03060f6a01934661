package model

import (
	"math"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// unrolled is cell.loop without a loop, and with GoMLX's gradient.
func (of cell) unrolled(a, u []*Node) *Node {
	d := a[0].Shape().Dimensions
	h := Zeros(a[0].Graph(), shapes.Make(a[0].DType(), d[0], d[2], d[3]))
	c := h
	var all []*Node
	for t := range d[1] {
		var now, products []*Node
		for i := range a {
			now, products = append(now, Squeeze(SliceAxis(a[i], 1, AxisElem(t)), 1)), append(products, product(h, u[i]))
		}
		h, c, _ = of.step(now, products, h, c)
		all = append(all, h)
	}
	return Stack(all, 1)
}

// The loops of recurrent layers give the states and the gradients of the same formulas without a loop.
func TestRecurrentLoopsEqualUnrolled(t *testing.T) {
	const T, b, units = 7, 2, 3
	for name, of := range map[string]cell{"LSTM": lstmCell, "GRU": gruCell} {
		for _, clients := range []int{1, 6} {
			var in []any
			add := func(dims ...int) {
				s := shapes.Make(dtypes.Float32, dims...)
				v := make([]float32, s.Size())
				for i := range v {
					v[i] = float32(math.Sin(float64(i*i + 7*len(in))))
				}
				in = append(in, tensors.FromFlatDataAndDimensions(v, dims...))
			}
			for range of.gates {
				add(clients, T, b, units)
			}
			for range of.gates {
				add(clients, units, units)
			}
			add(clients, T, b, units)
			results := func(f func(a, u []*Node) *Node) (all [][]float32) {
				out, err := xla.NewProgram(name, func(in []*Node) []*Node {
					n := of.gates
					h := f(in[:n:n], in[n:2*n:2*n])
					return append(Gradient(ReduceAllSum(Mul(h, in[2*n])), in[:2*n]...), h)
				}).Call(in...)
				expect.OK(t, err)
				for _, o := range out {
					all = append(all, expect.Value(xla.Host(o))(t))
				}
				return all
			}
			want, got := results(of.unrolled), results(of.loop)
			for i := range want {
				for j, v := range want[i] {
					d := math.Abs(float64(got[i][j] - v))
					expect.Must(t, d <= 1e-5*(1+math.Abs(float64(v))),
						"%s, %d clients, result %d of %d: number %d is %v, want %v", name, clients, i, len(want), j, got[i][j], v)
				}
			}
		}
	}
}

// The graph of a recurrent layer and its gradient does not grow with the length of a sequence.
func TestRecurrentGraphsDoNotGrow(t *testing.T) {
	for name, of := range map[string]cell{"LSTM": lstmCell, "GRU": gruCell} {
		nodes := func(T int) (n int) {
			s := []shapes.Shape{}
			for range of.gates {
				s = append(s, shapes.Make(dtypes.Float32, 1, T, 2, 3))
			}
			for range of.gates {
				s = append(s, shapes.Make(dtypes.Float32, 1, 3, 3))
			}
			expect.OK(t, xla.NewProgram(name, func(in []*Node) []*Node {
				k := of.gates
				gradients := Gradient(ReduceAllSum(of.loop(in[:k:k], in[k:])), in...)
				n = len(in[0].Graph().Nodes())
				return gradients
			}).Build(s...))
			return n
		}
		if short, long := nodes(5), nodes(80); short != long {
			t.Errorf("%s: %d nodes for 5 steps, %d for 80", name, short, long)
		}
	}
}
