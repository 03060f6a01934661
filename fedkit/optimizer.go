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
	Beta float64 `range:"[0,1)" default:"0.9"` // β
}

func (Momentum) Slots() int { return 1 }

func (m Momentum) Direction(g *graph.Node, v []*graph.Node, _ *graph.Node) (*graph.Node, []*graph.Node) {
	d := graph.Add(graph.MulScalar(v[0], cmp.Or(m.Beta, 0.9)), g)
	return d, []*graph.Node{d}
}

// Adam is the bias-corrected adaptive step of arXiv 1412.6980: w ← w − η m̂/(√v̂ + ε).
type Adam struct {
	Beta1   float64 `range:"[0,1)" default:"0.9"`    // β1
	Beta2   float64 `range:"[0,1)" default:"0.999"`  // β2
	Epsilon float64 `range:"(0,inf)" default:"1e-8"` // ε
}

func (Adam) Slots() int { return 2 }

func (a Adam) Direction(g *graph.Node, mv []*graph.Node, t *graph.Node) (*graph.Node, []*graph.Node) {
	b1, b2 := cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999)
	m := graph.Add(graph.MulScalar(mv[0], b1), graph.MulScalar(g, 1-b1))
	v := graph.Add(graph.MulScalar(mv[1], b2), graph.MulScalar(graph.Square(g), 1-b2))
	corrected := func(x *graph.Node, b float64) *graph.Node {
		return graph.Div(x, graph.OneMinus(graph.Pow(graph.Scalar(t.Graph(), t.DType(), b), t)))
	}
	return graph.Div(corrected(m, b1), graph.AddScalar(graph.Sqrt(corrected(v, b2)), cmp.Or(a.Epsilon, 1e-8))), []*graph.Node{m, v}
}
