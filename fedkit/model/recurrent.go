package model

import (
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// cell is one step of a recurrent layer on batches [C, B, units], and its gradient. Both are bodies of a loop, without scalar constants.
type cell struct {
	gates, kept int  // how many nodes a step takes, of a and of u, and keeps for its gradient
	memory      bool // whether there is c besides h; else it is nil
	apart       bool // whether the gradients by a and u differ

	// step returns h and c after a step from a, products with its inputs, and u, products with h.
	step func(a, u []*Node, h, c *Node) (hAfter, cAfter *Node, kept []*Node)

	// back returns the gradients by a and u, by h, if it matters other than by u, and by c, from those by h and c after the step. h is that
	// before it.
	back func(kept []*Node, h, dh, dc *Node) (da, du []*Node, dhBefore, dcBefore *Node)
}

// stepwise is Dense on what a recurrent layer has as its inputs, [C or 1, T, B, in], in one product for all steps.
func stepwise(x, w, b *Node) *Node {
	d := x.Shape().Dimensions
	return Reshape(Dense(Reshape(x, d[0], d[1]*d[2], d[3]), w, b), -1, d[1], d[2], w.Shape().Dim(2))
}

// recurrent returns h after each step, [C, T, B, units], from a [C, T, B, gates·units] and the kernel U [C, units, gates·units]: h and c
// start at 0.
//
// It is a loop over the steps, and so is its gradient, so that the graph does not grow with T. That by U is one product after the loop.
func recurrent(a, u *Node, of cell) *Node {
	g, d, units := a.Graph(), a.Shape().Dimensions, u.Shape().Dim(1)
	clients, T, b := d[0], d[1], d[2]
	zeros := func(dims ...int) *Node { return Zeros(g, shapes.Make(a.DType(), dims...)) }
	parts := func(v *Node) (all []*Node) {
		for i := range v.Shape().Dim(2) / units {
			all = append(all, SliceAxis(v, 2, AxisRange(i*units, (i+1)*units)))
		}
		return all
	}
	at := func(v, t *Node) *Node { // [C, T, B, n] → [C, B, n]
		n, zero := v.Shape().Dim(3), Const(g, int32(0))
		return Reshape(DynamicSlice(v, []*Node{zero, t, zero, zero}, []int{clients, 1, b, n}), clients, b, n)
	}
	put := func(s *xla.Loop, name string, t *Node, values ...*Node) {
		zero := Const(g, int32(0))
		s.Set(name, DynamicUpdateSlice(s.One(name), InsertAxes(Concatenate(values, 2), 1), []*Node{zero, t, zero, zero}))
	}
	loop := func(state func(s *xla.Loop)) *xla.Loop {
		s := xla.NewLoop(g)
		s.Add("U", u)
		s.Add("h", zeros(clients, b, units))
		if of.memory {
			s.Add("c", zeros(clients, b, units))
		}
		state(s)
		return s
	}
	memory := func(s *xla.Loop) *Node {
		if of.memory {
			return s.One("c")
		}
		return nil
	}
	carry := func(s *xla.Loop, h, c *Node) {
		s.Set("h", h)
		if of.memory {
			s.Set("c", c)
		}
	}

	s := loop(func(s *xla.Loop) {
		s.Add("a", a)
		s.Add("kept", zeros(clients, T, b, of.kept*units))
		s.Add("states", zeros(clients, T+1, b, units)) // before and after each step
	})
	s.Repeat(T, func(t *Node, s *xla.Loop) {
		h, c, kept := of.step(parts(at(s.One("a"), t)), parts(product(s.One("h"), s.One("U"))), s.One("h"), memory(s))
		put(s, "kept", t, kept...)
		put(s, "states", Add(t, Const(g, int32(1))), h)
		carry(s, h, c)
	})
	kept, states := s.One("kept"), s.One("states")

	slopes := func(slope *Node) []*Node {
		s := loop(func(s *xla.Loop) { // h and c are their slopes
			s.Add("slope", slope)
			s.Add("kept", kept)
			s.Add("states", states)
			s.Add("δa", zeros(clients, T, b, of.gates*units))
			if of.apart {
				s.Add("δu", zeros(clients, T, b, of.gates*units))
			}
		})
		s.Repeat(T, func(t *Node, s *xla.Loop) {
			t = Sub(Const(g, int32(T-1)), t)
			da, du, dh, dc := of.back(parts(at(s.One("kept"), t)), at(s.One("states"), t), Add(at(s.One("slope"), t), s.One("h")), memory(s))
			put(s, "δa", t, da...)
			if of.apart {
				put(s, "δu", t, du...)
			}
			through := DotGeneral(Concatenate(du, 2), []int{2}, []int{0}, s.One("U"), []int{2}, []int{0})
			if dh != nil {
				through = Add(through, dh)
			}
			carry(s, through, dc)
		})
		rows := func(v *Node) *Node { return Reshape(v, clients, T*b, -1) }
		before, du := rows(SliceAxis(states, 1, AxisRange(0, T))), s.One("δa")
		if of.apart {
			du = s.One("δu")
		}
		return []*Node{s.One("δa"), DotGeneral(before, []int{1}, []int{0}, rows(du), []int{1}, []int{0})}
	}
	return withGradient(SliceAxis(states, 1, AxisRange(1, T+1)), slopes, a, u)
}

// throughSigmoid is the gradient by a of s = σ(a), from that by s.
func throughSigmoid(s, slope *Node) *Node { return Mul(slope, Sub(s, Square(s))) }

// throughTanh is the gradient by a of s = tanh(a), from that by s.
func throughTanh(s, slope *Node) *Node { return Sub(slope, Mul(slope, Square(s))) }

// withGradient is y, a function of other nodes, whose gradients by them are what slopes returns for that by y, a node for each.
func withGradient(y *Node, slopes func(slope *Node) []*Node, of ...*Node) *Node {
	// Values that are never used lead the gradient's way from y to each node, in whose place are those of slopes.
	var found []*Node
	way := Zeros(y.Graph(), shapes.Make(y.DType()))
	for i, n := range of {
		n = IdentityWithCustomGradient(n, func(_, _ *Node) *Node { return found[i] })
		way = Add(way, Reshape(Slice(Reshape(n, -1), AxisElem(0))))
	}
	never := Const(y.Graph(), false)
	y = Where(never, BroadcastToDims(way, y.Shape().Dimensions...), StopGradient(y))
	return IdentityWithCustomGradient(y, func(_, slope *Node) *Node {
		found = slopes(slope)
		return slope
	})
}
