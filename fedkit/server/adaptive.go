package server

import (
	"fmt"
	"math"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Form is one of two variants of the adaptive optimizers.
type Form int

const (
	// Corrected is Adam's original form (arXiv 1412.6980) except for the place of ε: m̂ = m/(1−β1^t) and v̂ = v/(1−β2^t)
	// correct the bias of starting at zero, and ε is inside the root,
	//
	//	step = η m̂/√(v̂ + ε),  m_0 = v_0 = 0.
	Corrected Form = iota

	// Reddi is that of arXiv 2003.00295, Algorithm 2: there is no bias correction, and τ, here Epsilon, is outside the root,
	//
	//	step = η m/(√v + τ),  m_0 = 0,  v_0 = τ².
	Reddi
)

// String returns the name of the constant.
func (f Form) String() string {
	switch f {
	case Corrected:
		return "Corrected"
	case Reddi:
		return "Reddi"
	}
	return fmt.Sprintf("Form(%d)", int(f))
}

// MarshalText writes the form's name into configurations.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// Check implements fedkit.Checker.
func (f Form) Check(*fedkit.Federation, int) error {
	if f != Corrected && f != Reddi {
		return fedkit.Invalid("", f, "server.Corrected or server.Reddi")
	}
	return nil
}

// epsilon returns ε, which has a default in each form.
func (f Form) epsilon(epsilon float64) float64 {
	switch {
	case epsilon != 0:
		return epsilon
	case f == Reddi:
		return 1e-3
	}
	return 1e-6
}

// memory returns m and v after the previous step or, before the first one, m_0 and v_0.
func (f Form) memory(memory []*fedkit.Matrix, delta *fedkit.Matrix, epsilon float64) (m, v *fedkit.Matrix) {
	if len(memory) == 2 {
		return memory[0], memory[1]
	}
	tau := 0.0
	if f == Reddi {
		tau = f.epsilon(epsilon)
	}
	return constant(delta, 0), constant(delta, tau*tau)
}

// step returns the step of η along m and v in round t. If β2 is 0, v is not a running mean, and v̂ = v.
func (f Form) step(m, v *fedkit.Matrix, lr, beta1, beta2, epsilon float64, t int) *fedkit.Matrix {
	if f == Reddi {
		return m.Apply(divide, v, lr, 1.0, 0.0, f.epsilon(epsilon))
	}
	unbias := func(beta float64) float64 { return 1 / (1 - math.Pow(beta, float64(t))) }
	return m.Apply(divide, v, lr*unbias(beta1), unbias(beta2), f.epsilon(epsilon), 0.0)
}

var divide = fedkit.NewProgram("adaptive step", func(a []*Node) *Node {
	m, v, rate, correct, inside, outside := a[0], a[1], a[2], a[3], a[4], a[5]
	return Div(Mul(rate, m), Add(Sqrt(Add(Mul(correct, v), inside)), outside))
})

// Adagrad divides by the root of the sum of all squares so far (arXiv 2003.00295, Algorithm 2, FedAdagrad),
//
//	m ← β1 m + (1−β1)Δ,  v ← v + Δ²,  v̂ = v,
//
// with the step given by Form. The paper's experiments use no momentum: Beta1: fedkit.Zero.
type Adagrad struct {
	LR      float64 `range:"(0,inf)" default:"0.1"`                         // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adagrad) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1) // m ← β1 m + (1−β1)Δ
	v = v.Apply(adagrad, delta)    // v ← v + Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, 0, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var adagrad = fedkit.NewProgram("adagrad", func(a []*Node) *Node {
	v, delta := a[0], a[1]
	return Add(v, Square(delta))
})

// Adam divides by the root of a running mean of squares (arXiv 2003.00295, Algorithm 2, FedAdam),
//
//	m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,
//
// with the step given by Form.
type Adam struct {
	LR      float64 `range:"(0,inf)" default:"0.01"`                        // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`                          // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Adam) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1)               // m ← β1 m + (1−β1)Δ
	v = v.Apply(adam, delta, o.Beta2, 1-o.Beta2) // v ← β2 v + (1−β2)Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, o.Beta2, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var adam = fedkit.NewProgram("adam", func(a []*Node) *Node {
	v, delta, beta, rest := a[0], a[1], a[2], a[3]
	return Add(Mul(beta, v), Mul(rest, Square(delta)))
})

// Yogi is Adam, except that v moves toward Δ² by a step that does not depend on the distance, so that it forgets large
// updates slowly (arXiv 2003.00295, Algorithm 2, FedYogi),
//
//	m ← β1 m + (1−β1)Δ,  v ← v − (1−β2) sign(v−Δ²)Δ²,
//
// with the step given by Form.
type Yogi struct {
	LR      float64 `range:"(0,inf)" default:"0.01"`                        // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`                           // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`                          // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-6 (1e-3 in Reddi's form)"` // ε; in Reddi's form τ
	Form    Form    // default Corrected
}

// Step implements fedkit.ServerOptimizer. It remembers m and v.
func (o Yogi) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, t int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	m, v := o.Form.memory(memory, delta, o.Epsilon)
	m = average(m, delta, o.Beta1)      // m ← β1 m + (1−β1)Δ
	v = v.Apply(yogi, delta, 1-o.Beta2) // v ← v − (1−β2) sign(v−Δ²)Δ²
	return o.Form.step(m, v, o.LR, o.Beta1, o.Beta2, o.Epsilon, t), []*fedkit.Matrix{m, v}
}

var yogi = fedkit.NewProgram("yogi", func(a []*Node) *Node {
	v, squared, rest := a[0], Square(a[1]), a[2]
	return Sub(v, Mul(rest, Mul(Sign(Sub(v, squared)), squared)))
})

// AMSGrad divides by the root of the largest running mean of squares so far (arXiv 1904.09237, Algorithm 2; with federated
// updates, arXiv 2205.02719, FedAMSGrad),
//
//	m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,  v̂ ← max(v̂, v),  step = η m/(√v̂ + ε),
//
// with m_0 = v_0 = v̂_0 = 0. The effective learning rate η/(√v̂ + ε) never grows.
type AMSGrad struct {
	LR      float64 `range:"(0,inf)" default:"0.01"` // η, server learning rate
	Beta1   float64 `range:"[0,1)" default:"0.9"`    // β1, of the mean of updates
	Beta2   float64 `range:"[0,1)" default:"0.99"`   // β2, of the mean of squares
	Epsilon float64 `range:"(0,inf)" default:"1e-3"` // ε, added to the root
}

// Step implements fedkit.ServerOptimizer. It remembers m, v and v̂.
func (o AMSGrad) Step(delta *fedkit.Matrix, memory []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	o = fedkit.Defaults(o)
	zero := constant(delta, 0)
	m, v, most := zero, zero, zero
	if len(memory) == 3 {
		m, v, most = memory[0], memory[1], memory[2]
	}
	m = average(m, delta, o.Beta1)               // m ← β1 m + (1−β1)Δ
	v = v.Apply(adam, delta, o.Beta2, 1-o.Beta2) // v ← β2 v + (1−β2)Δ²
	most = most.Apply(larger, v)                 // v̂ ← max(v̂, v)
	return m.Apply(divide, most, o.LR, 1.0, 0.0, o.Epsilon), []*fedkit.Matrix{m, v, most}
}

var larger = fedkit.NewProgram("larger", func(a []*Node) *Node { return Max(a[0], a[1]) })
