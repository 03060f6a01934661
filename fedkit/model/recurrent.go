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
	d := a[0].Shape().Dimensions
	s := &sequence{cell: of, g: a[0].Graph(), a: a, u: u, clients: d[0], T: d[1], batch: d[2], units: d[3]}
	s.forward()
	return withGradient(SliceAxis(s.hs, 1, AxisRange(1, s.T+1)), s.slopes, append(a[:len(a):len(a)], u...)...)
}

// sequence is all steps of a layer. What a loop has of each step lies along an axis, [C, T, B, units].
type sequence struct {
	cell
	g                        *Graph
	a, u                     []*Node // as in loop
	clients, T, batch, units int

	kept   []*Node // of step
	hs, cs *Node   // h and c before and after each step, [C, T+1, B, units]
}

// zeros returns [C, n, B, units].
func (s *sequence) zeros(n int) *Node {
	return Zeros(s.g, shapes.Make(s.a[0].DType(), s.clients, n, s.batch, s.units))
}

func (s *sequence) number(i int) *Node { return Const(s.g, int32(i)) }

// where returns the position of step t.
func (s *sequence) where(t *Node) []*Node {
	return []*Node{s.number(0), t, s.number(0), s.number(0)}
}

// at returns what v has of step t, [C, B, units].
func (s *sequence) at(v, t *Node) *Node {
	return Reshape(DynamicSlice(v, s.where(t), []int{s.clients, 1, s.batch, s.units}), s.clients, s.batch, s.units)
}

// allAt is at for several nodes.
func (s *sequence) allAt(vs []*Node, t *Node) (now []*Node) {
	for _, v := range vs {
		now = append(now, s.at(v, t))
	}
	return now
}

// put sets what a loop has of step t under a name.
func (s *sequence) put(in *xla.Loop, name string, t *Node, values ...*Node) {
	to := in.All(name)
	for i, v := range values {
		to[i] = DynamicUpdateSlice(to[i], InsertAxes(v, 1), s.where(t))
	}
	in.Set(name, to...)
}

// newLoop returns a loop that carries h and c, or their slopes, from step to step.
func (s *sequence) newLoop() *xla.Loop {
	l := xla.NewLoop(s.g)
	l.Add("a", s.a...)
	l.Add("h", Reshape(s.zeros(1), s.clients, s.batch, s.units))
	l.Add("c", Reshape(s.zeros(1), s.clients, s.batch, s.units))
	return l
}

func (s *sequence) carry(in *xla.Loop, h, c *Node) {
	in.Set("h", h)
	if s.memory {
		in.Set("c", c)
	}
}

// forward sets kept, hs and cs.
func (s *sequence) forward() {
	l := s.newLoop()
	l.Add("U", s.u...)
	l.Add("hs", s.zeros(s.T+1))
	l.Add("cs", s.zeros(s.T+1))
	for range s.a {
		l.Add("kept", s.zeros(s.T))
	}
	l.Repeat(s.T, func(t *Node, in *xla.Loop) {
		var products []*Node
		for _, u := range in.All("U") {
			products = append(products, product(in.One("h"), u))
		}
		h, c, kept := s.step(s.allAt(in.All("a"), t), products, in.One("h"), in.One("c"))
		s.put(in, "kept", t, kept...)
		s.put(in, "hs", Add(t, s.number(1)), h)
		if s.memory {
			s.put(in, "cs", Add(t, s.number(1)), c)
		}
		s.carry(in, h, c)
	})
	s.kept, s.hs, s.cs = l.All("kept"), l.One("hs"), l.One("cs")
}

// slopes returns the gradients by a and u, from that by h after each step: a loop from the last step to the first.
func (s *sequence) slopes(slope *Node) []*Node {
	byU := "δa" // name of the gradients by products with h
	if s.apart {
		byU = "δu"
	}
	l := s.newLoop()
	l.Add("slope", slope)
	l.Add("kept", s.kept...)
	l.Add("hs", s.hs)
	l.Add("cs", s.cs)
	for i := range s.u {
		l.Add("Uᵀ", Transpose(s.u[i], 1, 2))
		l.Add("δa", s.zeros(s.T))
		if s.apart {
			l.Add("δu", s.zeros(s.T))
		}
	}
	l.Repeat(s.T, func(t *Node, in *xla.Loop) {
		t = Sub(s.number(s.T-1), t)
		dh := Add(s.at(in.One("slope"), t), in.One("h"))
		da, du, dh, dc := s.back(s.allAt(in.All("a"), t), s.allAt(in.All("kept"), t), s.at(in.One("hs"), t), s.at(in.One("cs"), t), dh, in.One("c"))
		s.put(in, "δa", t, da...)
		if s.apart {
			s.put(in, "δu", t, du...)
		}
		for i, u := range in.All("Uᵀ") {
			if through := product(du[i], u); dh == nil {
				dh = through
			} else {
				dh = Add(dh, through)
			}
		}
		s.carry(in, dh, dc)
	})
	rows := func(v *Node) *Node { return Reshape(v, s.clients, s.T*s.batch, s.units) }
	before, all := rows(SliceAxis(s.hs, 1, AxisRange(0, s.T))), l.All("δa")
	for _, du := range l.All(byU) {
		all = append(all, DotGeneral(before, []int{1}, []int{0}, rows(du), []int{1}, []int{0}))
	}
	return all
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
