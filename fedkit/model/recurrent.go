package model

import (
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// cell is one step of a recurrent layer on batches [C, B, units], and its gradient. Both are bodies of a loop, without scalar constants.
// Gates are nodes of their own, not parts of one: XLA has vectors for elements that lie one beside the other.
type cell struct {
	gates  int
	memory bool // whether there is c besides h
	apart  bool // whether the gradients by a and u differ

	// step returns h and c after a step from a, products with its inputs, u, products with h, and c, gate by gate; and what back needs.
	step func(a, u []*Node, h, c *Node) (hAfter, cAfter *Node, kept []*Node)

	// back returns the gradients by a and u; by h, if it matters other than by u; and by c, from those by h and c after the step.
	back func(a, kept []*Node, h, c, dh, dc *Node) (da, du []*Node, dhBefore, dcBefore *Node)
}

// layer returns h after each step, [C, T, B, units], for inputs x [C or 1, T, B, in] and the kernels W [C, in, gates·units], b and U [C,
// units, gates·units]; h and c start at 0. The products with all inputs are one for each gate.
func (of cell) layer(x, w, b, u *Node) *Node {
	units, d := u.Shape().Dim(1), x.Shape().Dimensions
	x = Reshape(x, d[0], d[1]*d[2], d[3])
	var as, us []*Node
	for i := range of.gates {
		own := AxisRange(i*units, (i+1)*units)
		a := Dense(x, SliceAxis(w, 2, own), SliceAxis(b, 1, own))
		as, us = append(as, Reshape(a, -1, d[1], d[2], units)), append(us, SliceAxis(u, 2, own))
	}
	return of.loop(as, us)
}

// loop is layer from products a, [C, T, B, units] each. It is a loop over the steps, and so is its gradient, so that the graph does not
// grow with T. That by U is one product for each gate after the loop.
func (of cell) loop(a, u []*Node) *Node {
	clients := a[0].Shape().Dim(0)
	if groups := min(clients, parallelLoops); groups > 1 && xla.OnCPU() {
		var all []*Node
		for k := range groups {
			own := func(vs []*Node) (part []*Node) {
				for _, v := range vs {
					part = append(part, SliceAxis(v, 0, AxisRange(k*clients/groups, (k+1)*clients/groups)))
				}
				return part
			}
			all = append(all, of.each(own(a), own(u)))
		}
		return Concatenate(all, 0)
	}
	return of.each(a, u)
}

// parallelLoops is the most loops that share the clients of a program on a CPU. XLA runs loops that do not depend on each other at the same
// time, which took 871 ms a round in place of 924, in one run each: see scripts/bench.md. Compile time grows with each.
const parallelLoops = 4

// each is loop with the clients side by side in each step.
func (of cell) each(a, u []*Node) *Node {
	g, d := a[0].Graph(), a[0].Shape().Dimensions
	clients, T, b, units := d[0], d[1], d[2], d[3]
	zeros := func(steps int) *Node { return Zeros(g, shapes.Make(a[0].DType(), clients, steps, b, units)) }
	where := func(t *Node) []*Node { return []*Node{Const(g, int32(0)), t, Const(g, int32(0)), Const(g, int32(0))} }
	at := func(v, t *Node) *Node { // [C, T, B, units] → [C, B, units]
		return Reshape(DynamicSlice(v, where(t), []int{clients, 1, b, units}), clients, b, units)
	}
	all := func(vs []*Node, t *Node) (now []*Node) {
		for _, v := range vs {
			now = append(now, at(v, t))
		}
		return now
	}
	put := func(s *xla.Loop, name string, t *Node, values ...*Node) {
		to := s.All(name)
		for i, v := range values {
			to[i] = DynamicUpdateSlice(to[i], InsertAxes(v, 1), where(t))
		}
		s.Set(name, to...)
	}
	start := func() *xla.Loop {
		s := xla.NewLoop(g)
		s.Add("a", a...)
		s.Add("h", Reshape(zeros(1), clients, b, units))
		s.Add("c", Reshape(zeros(1), clients, b, units))
		return s
	}
	carry := func(s *xla.Loop, h, c *Node) {
		s.Set("h", h)
		if of.memory {
			s.Set("c", c)
		}
	}

	s := start()
	s.Add("U", u...)
	s.Add("hs", zeros(T+1)) // before and after each step
	s.Add("cs", zeros(T+1))
	for range a {
		s.Add("kept", zeros(T))
	}
	s.Repeat(T, func(t *Node, s *xla.Loop) {
		var products []*Node
		for _, u := range s.All("U") {
			products = append(products, product(s.One("h"), u))
		}
		h, c, kept := of.step(all(s.All("a"), t), products, s.One("h"), s.One("c"))
		put(s, "kept", t, kept...)
		put(s, "hs", Add(t, Const(g, int32(1))), h)
		if of.memory {
			put(s, "cs", Add(t, Const(g, int32(1))), c)
		}
		carry(s, h, c)
	})
	kept, hs, cs := s.All("kept"), s.One("hs"), s.One("cs")

	slopes := func(slope *Node) []*Node {
		s := start() // h and c are their slopes
		s.Add("slope", slope)
		s.Add("kept", kept...)
		s.Add("hs", hs)
		s.Add("cs", cs)
		for i := range u {
			s.Add("Uᵀ", Transpose(u[i], 1, 2))
			s.Add("δa", zeros(T))
			if of.apart {
				s.Add("δu", zeros(T))
			}
		}
		s.Repeat(T, func(t *Node, s *xla.Loop) {
			t = Sub(Const(g, int32(T-1)), t)
			dh := Add(at(s.One("slope"), t), s.One("h"))
			da, du, dh, dc := of.back(all(s.All("a"), t), all(s.All("kept"), t), at(s.One("hs"), t), at(s.One("cs"), t), dh, s.One("c"))
			put(s, "δa", t, da...)
			if of.apart {
				put(s, "δu", t, du...)
			}
			for i, u := range s.All("Uᵀ") {
				if through := product(du[i], u); dh == nil {
					dh = through
				} else {
					dh = Add(dh, through)
				}
			}
			carry(s, dh, dc)
		})
		rows := func(v *Node) *Node { return Reshape(v, clients, T*b, units) }
		before, all, of := rows(SliceAxis(hs, 1, AxisRange(0, T))), s.All("δa"), map[bool]string{false: "δa", true: "δu"}[of.apart]
		for _, du := range s.All(of) {
			all = append(all, DotGeneral(before, []int{1}, []int{0}, rows(du), []int{1}, []int{0}))
		}
		return all
	}
	return withGradient(SliceAxis(hs, 1, AxisRange(1, T+1)), slopes, append(a[:len(a):len(a)], u...)...)
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
