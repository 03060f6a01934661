package fedkit

import (
	"cmp"

	"github.com/gomlx/gomlx/core/graph"
)

// Optimizer turns a gradient into a step on a client: SGD, Momentum or Adam. Its memory starts empty in every round.
type Optimizer interface {
	// Slots returns how many values are kept for every parameter.
	Slots() int
	// Direction returns what to subtract, times η, from a parameter with gradient g, and its new slots. All have the
	// parameter's shape with the client axis in front. t is the step's number from 1, a float32 scalar.
	Direction(g *graph.Node, slots []*graph.Node, t *graph.Node) (*graph.Node, []*graph.Node)
}

// SGD steps along the gradient.
type SGD struct{}

func (SGD) Slots() int { return 0 }
func (SGD) Direction(g *graph.Node, _ []*graph.Node, _ *graph.Node) (*graph.Node, []*graph.Node) {
	return g, nil
}

// Momentum is heavy-ball SGD: v ← βv + g, w ← w − ηv.
type Momentum struct {
	Beta float64 // β in [0, 1); 0 stands for the default of 0.9
}

func (Momentum) Slots() int { return 1 }

func (m Momentum) Check() error {
	if !(m.Beta >= 0 && m.Beta < 1) {
		return Invalid("Momentum.Beta", m.Beta, "in [0, 1)")
	}
	return nil
}

func (m Momentum) Direction(g *graph.Node, v []*graph.Node, _ *graph.Node) (*graph.Node, []*graph.Node) {
	d := graph.Add(graph.MulScalar(v[0], cmp.Or(m.Beta, 0.9)), g)
	return d, []*graph.Node{d}
}

// Adam is the bias-corrected adaptive step of arXiv 1412.6980: w ← w − η m̂/(√v̂ + ε).
type Adam struct {
	Beta1   float64 // β1 in [0, 1); default 0.9
	Beta2   float64 // β2 in [0, 1); default 0.999
	Epsilon float64 // ε > 0; default 1e-8
}

func (Adam) Slots() int { return 2 }

func (a Adam) Check() error {
	switch {
	case !(a.Beta1 >= 0 && a.Beta1 < 1):
		return Invalid("Adam.Beta1", a.Beta1, "in [0, 1)")
	case !(a.Beta2 >= 0 && a.Beta2 < 1):
		return Invalid("Adam.Beta2", a.Beta2, "in [0, 1)")
	case !(a.Epsilon >= 0):
		return Invalid("Adam.Epsilon", a.Epsilon, "> 0")
	}
	return nil
}

func (a Adam) Direction(g *graph.Node, mv []*graph.Node, t *graph.Node) (*graph.Node, []*graph.Node) {
	b1, b2 := cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999)
	m := graph.Add(graph.MulScalar(mv[0], b1), graph.MulScalar(g, 1-b1))
	v := graph.Add(graph.MulScalar(mv[1], b2), graph.MulScalar(graph.Square(g), 1-b2))
	corrected := func(x *graph.Node, b float64) *graph.Node {
		return graph.Div(x, graph.OneMinus(graph.Pow(graph.Scalar(t.Graph(), t.DType(), b), t)))
	}
	return graph.Div(corrected(m, b1), graph.AddScalar(graph.Sqrt(corrected(v, b2)), cmp.Or(a.Epsilon, 1e-8))), []*graph.Node{m, v}
}
