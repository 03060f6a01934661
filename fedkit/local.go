package fedkit

import (
	"cmp"
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// Zero is for options whose zero value stands for a default: it means 0 itself.
const Zero = math.SmallestNonzeroFloat64

// FullBatch as Local.Batch takes all of a client's examples in every step.
const FullBatch = -1

// Local is the local problem of a client and how it is solved. One step of the one solver that serves all algorithms is
//
//	w ← w − η · m ⊙ ( ∇f(w; batch) + μ ⊙ (w − a) + s )
//
// with the mask m, the anchor a and the shift s of the Job; a term that is not used costs nothing.
// The zero value stands for one epoch of SGD with batches of 32 and η = 0.1; in any other, Batch and LR are required.
type Local struct {
	Epochs    int       // E, passes over the client's examples; default 1
	Steps     int       // τ, steps instead of epochs; 0: use Epochs
	Batch     int       // B, examples a step, or FullBatch; the last batch of an epoch may be smaller and is weighted rightly
	LR        float64   // η, learning rate
	Optimizer Optimizer // default SGD{}
	Prox      float64   // μ of FedProx, (μ/2)‖w − a‖²; default 0
}

// WithDefaults returns l with what its zero fields stand for; of Epochs and Steps one stays 0.
func (l Local) WithDefaults() Local {
	if l == (Local{}) {
		l = Local{Batch: 32, LR: 0.1}
	}
	if l.Epochs == 0 && l.Steps == 0 {
		l.Epochs = 1
	}
	if l.Optimizer == nil {
		l.Optimizer = SGD{}
	}
	return l
}

// Check reports the first option that is not allowed.
func (l Local) Check() error {
	l = l.WithDefaults()
	switch {
	case l.Epochs < 0:
		return Invalid("Local.Epochs", l.Epochs, "at least 1, or 0 for the default of 1")
	case l.Steps < 0:
		return Invalid("Local.Steps", l.Steps, "at least 1, or 0 to count epochs")
	case l.Steps > 0 && l.Epochs > 0:
		return Invalid("Local.Steps", l.Steps, "0 where Epochs is set: use one of them")
	case l.Batch < 1 && l.Batch != FullBatch:
		return Invalid("Local.Batch", l.Batch, "at least 1, or fedkit.FullBatch")
	case !(l.LR > 0) || math.IsInf(l.LR, 0):
		return Invalid("Local.LR", l.LR, "a number > 0")
	case !(l.Prox >= 0) || math.IsInf(l.Prox, 0):
		return Invalid("Local.Prox", l.Prox, "a number ≥ 0")
	}
	return l.Optimizer.check()
}

// steps returns how many steps a client with n examples takes.
func (l Local) steps(n, batch, epochs int) int {
	if l.Steps > 0 {
		return l.Steps
	}
	return epochs * ((n + batch - 1) / batch)
}

// Optimizer turns a gradient into a step on a client: SGD, Momentum or Adam. Its memory starts empty in every round.
type Optimizer interface {
	slots() int // values kept for every parameter
	// direction returns what to subtract, times η, and the new slots; t is the step's number from 1, a float32 scalar.
	direction(g *graph.Node, slots []*graph.Node, t *graph.Node) (*graph.Node, []*graph.Node)
	check() error
}

// SGD steps along the gradient.
type SGD struct{}

func (SGD) slots() int   { return 0 }
func (SGD) check() error { return nil }
func (SGD) direction(g *graph.Node, _ []*graph.Node, _ *graph.Node) (*graph.Node, []*graph.Node) {
	return g, nil
}

// Momentum is heavy-ball SGD: v ← βv + g, w ← w − ηv.
type Momentum struct {
	Beta float64 // β in [0, 1); 0 stands for the default of 0.9
}

func (Momentum) slots() int { return 1 }

func (m Momentum) check() error {
	if !(m.Beta >= 0 && m.Beta < 1) {
		return Invalid("Momentum.Beta", m.Beta, "in [0, 1)")
	}
	return nil
}

func (m Momentum) direction(g *graph.Node, v []*graph.Node, _ *graph.Node) (*graph.Node, []*graph.Node) {
	d := graph.Add(graph.MulScalar(v[0], cmp.Or(m.Beta, 0.9)), g)
	return d, []*graph.Node{d}
}

// Adam is the bias-corrected adaptive step of arXiv 1412.6980: w ← w − η m̂/(√v̂ + ε).
type Adam struct {
	Beta1   float64 // β1 in [0, 1); default 0.9
	Beta2   float64 // β2 in [0, 1); default 0.999
	Epsilon float64 // ε > 0; default 1e-8
}

func (Adam) slots() int { return 2 }

func (a Adam) check() error {
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

func (a Adam) direction(g *graph.Node, mv []*graph.Node, t *graph.Node) (*graph.Node, []*graph.Node) {
	b1, b2 := cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999)
	m := graph.Add(graph.MulScalar(mv[0], b1), graph.MulScalar(g, 1-b1))
	v := graph.Add(graph.MulScalar(mv[1], b2), graph.MulScalar(graph.Square(g), 1-b2))
	corrected := func(x *graph.Node, b float64) *graph.Node {
		return graph.Div(x, graph.OneMinus(graph.Pow(graph.Scalar(t.Graph(), t.DType(), b), t)))
	}
	return graph.Div(corrected(m, b1), graph.AddScalar(graph.Sqrt(corrected(v, b2)), cmp.Or(a.Epsilon, 1e-8))), []*graph.Node{m, v}
}
