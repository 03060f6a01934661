package model

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
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
	ones   int  // the gate whose biases start at 1; 0: none

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

// network is an embedding of the vocabulary, a layer of the cell for each number of units, and a dense layer on the last state or, if each
// token has a label, on every state.
func (of cell) network(name string, layer func(l int) string, vocabulary, embedding int, units ...int) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if len(units) == 0 {
			return nil, fedkit.Invalid("model."+name+": units", units, "of at least one layer")
		}
		sizes := []size{{"embedding", embedding}}
		for _, u := range units {
			sizes = append(sizes, size{"units", u})
		}
		k, err := sequences("model."+name, d, vocabulary, sizes...)
		if err != nil {
			return nil, err
		}
		t := &fedkit.Task{Name: fmt.Sprintf("%s-%d", name, embedding), Params: []fedkit.Param{{Name: "embedding", Shape: []int{vocabulary, embedding}, Init: normal(1)}}}
		in, last := embedding, ""
		for l, u := range units {
			last = layer(l)
			t.Name += fmt.Sprintf("-%d", u)
			biases := fedkit.Param{Name: last + "/biases", Shape: []int{of.gates * u}}
			if from := of.ones * u; from > 0 {
				biases.Init = func(_ *rand.Rand, w []float32) { ones(nil, w[from:from+u]) }
			}
			t.Params = append(t.Params, // of the gates, one after the other
				fedkit.Param{Name: last + "/inputs", Shape: []int{in, of.gates * u}, Init: normal(1 / float64(in))}, biases,
				fedkit.Param{Name: last + "/states", Shape: []int{u, of.gates * u}, Init: normal(1 / float64(u))})
			in = u
		}
		t.Params = append(t.Params, denseParams("dense", in, k)...)
		return denseOnStates(t, d, last, of.states), nil
	}
}

// states returns the last layer's states after each token, [C, T, B, units]: p are the embedding, and W, b and U of each layer; x [C, B, T].
func (of cell) states(p []*Node, x *Node) (states *Node) {
	states = embedded(x, p[0])
	for p = p[1:]; len(p) > 0; p = p[3:] {
		states = of.layer(states, p[0], p[1], p[2])
	}
	return states
}

// GRU is a recurrent network for sequences of tokens, such as characters: an embedding of the vocabulary, a gated
// recurrent unit (Cho et al., arXiv 1406.1078, but with r after the product with U_n), and a dense layer with one output
// per class on its last state. From the embedding e_t of the token t and the state h, which starts at 0,
//
//	r = σ(e_t W_r + b_r + h U_r)    z = σ(e_t W_z + b_z + h U_z)    n = tanh(e_t W_n + b_n + r ⊙ h U_n)
//	h ← z ⊙ h + (1 − z) ⊙ n.
//
// The data has the shape [T], with whole numbers in [0, vocabulary): bytes of Scale 1. To predict the next token, labels
// are tokens too. With a label at each of the T positions, the dense layer has one output per class on every state.
func GRU(vocabulary, embedding, units int) fedkit.Model {
	return gruCell.network("GRU", func(int) string { return "gru" }, vocabulary, embedding, units)
}

// gruCell is one step of a GRU. Its gradients, with that δh of what follows, and v for h U_n:
//
//	δn = δh ⊙ (1 − z) ⊙ (1 − n²),    δz = δh ⊙ (h − n) ⊙ z(1−z),    δv = δn ⊙ r,    δr = δn ⊙ v ⊙ r(1−r).
var gruCell = cell{
	gates: 3, apart: true,
	step: func(a, u []*Node, h, _ *Node) (*Node, *Node, []*Node) {
		_, z, n := gruGates(a, u)
		return Add(n, Mul(z, Sub(h, n))), nil, u
	},
	back: func(a, u []*Node, h, _, dh, _ *Node) (da, du []*Node, dhBefore, dcBefore *Node) {
		r, z, n := gruGates(a, u)
		direct := Mul(dh, z)
		dn := throughTanh(n, Sub(dh, direct))
		dr, dz := throughSigmoid(r, Mul(dn, u[2])), throughSigmoid(z, Mul(dh, Sub(h, n)))
		return []*Node{dr, dz, dn}, []*Node{dr, dz, Mul(dn, r)}, direct, nil
	},
}

func gruGates(a, u []*Node) (r, z, n *Node) {
	r, z = Sigmoid(Add(a[0], u[0])), Sigmoid(Add(a[1], u[1]))
	return r, z, Tanh(Add(a[2], Mul(r, u[2])))
}

// LSTM is a recurrent network for sequences of tokens: an embedding of the vocabulary, layers of long short-term memory (Hochreiter and
// Schmidhuber, Neural Computation 9, 1997; Gers et al., Neural Computation 12, 2000) with these numbers of units, and a dense layer with
// one output per class. From a layer's input e_t and its state h and memory c, which start at 0,
//
//	i = σ(e_t W_i + b_i + h U_i)    f = σ(e_t W_f + b_f + h U_f)    g = tanh(e_t W_g + b_g + h U_g)    o = σ(e_t W_o + b_o + h U_o)
//	c ← f ⊙ c + i ⊙ g               h ← o ⊙ tanh(c).
//
// Data and outputs are those of GRU: a label for the sequence or, as in language models, at each token, −1 where there is none, such as
// after the end of a text. LSTM(90, 8, 256, 256) is the network of arXiv 2003.00295 for Shakespeare, with 820,522 parameters for 90
// classes. b_f starts at 1.
func LSTM(vocabulary, embedding int, units ...int) fedkit.Model {
	return lstmCell.network("LSTM", func(l int) string { return fmt.Sprintf("lstm%d", l+1) }, vocabulary, embedding, units...)
}

// lstmCell is one step of an LSTM. Its gradients, with those δh and δc of what follows:
//
//	δc ← δc + δh ⊙ o ⊙ (1 − tanh²c),    δi = δc ⊙ g ⊙ i(1−i),    δf = δc ⊙ c_before ⊙ f(1−f),    δg = δc ⊙ i ⊙ (1−g²),
//	δo = δh ⊙ tanh c ⊙ o(1−o),          δc_before = δc ⊙ f.
var lstmCell = cell{
	gates: 4, memory: true, ones: 1,
	step: func(a, u []*Node, h, c *Node) (*Node, *Node, []*Node) {
		sums := []*Node{Add(a[0], u[0]), Add(a[1], u[1]), Add(a[2], u[2]), Add(a[3], u[3])}
		i, f, g, o := lstmGates(sums)
		c = Add(Mul(f, c), Mul(i, g))
		return Mul(o, Tanh(c)), c, sums
	},
	back: func(_, sums []*Node, _, c, dh, dc *Node) (da, du []*Node, dhBefore, dcBefore *Node) {
		i, f, g, o := lstmGates(sums)
		tanh := Tanh(Add(Mul(f, c), Mul(i, g)))
		dc = Add(dc, throughTanh(tanh, Mul(dh, o)))
		da = []*Node{throughSigmoid(i, Mul(dc, g)), throughSigmoid(f, Mul(dc, c)), throughTanh(g, Mul(dc, i)), throughSigmoid(o, Mul(dh, tanh))}
		return da, da, nil, Mul(dc, f)
	},
}

func lstmGates(sums []*Node) (i, f, g, o *Node) {
	return Sigmoid(sums[0]), Sigmoid(sums[1]), Tanh(sums[2]), Sigmoid(sums[3])
}
