package fedkit

import (
	"math"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
)

// Zero stands for 0 itself in options whose zero value stands for a default.
const Zero = config.Zero

// FullBatch as Local.Batch uses all of a client's examples in every step.
const FullBatch = engine.FullBatch

// Local is a client's local solver. All algorithms share it; one local step is
//
//	w ← w − η · m ⊙ ( ∇f(w; batch) + μ (w − a) + s )
//
// with the Job's mask m, shift s and proximal center a: its Start, unless it has Pulls. Unused terms cost nothing. An Optimizer
// other than SGD replaces the gradient in the parentheses by its own direction.
// The zero value stands for one epoch of SGD with batches of 32 and η = 0.1; in any other, Batch and LR are required.
type Local struct {
	Epochs    int       `range:"[1,inf)" default:"1"`                       // E, passes over the client's examples
	Steps     int       `range:"[1,inf)" default:"steps counted by Epochs"` // τ, steps instead of epochs
	Batch     int       // B, examples per step, or FullBatch; the last batch of an epoch may be smaller, and is weighted accordingly
	LR        float64   // η, learning rate
	Schedule  Schedule  // how η changes with the rounds; default: constant
	Optimizer Optimizer // default SGD{}
	Prox      float64   `range:"[0,inf)"` // μ of FedProx's proximal term (μ/2)‖w − a‖²; ignored in a Job with Pulls
}

// WithDefaults returns l with its defaults filled in; one of Epochs and Steps stays 0.
func (l Local) WithDefaults() Local {
	if l.Schedule == nil && l.Optimizer == nil && l == (Local{}) {
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

// Rate returns η in round t.
func (l Local) Rate(t int) float64 {
	l = l.WithDefaults()
	if l.Schedule == nil {
		return l.LR
	}
	return l.LR * l.Schedule.Factor(t)
}

// Check implements Checker.
func (l Local) Check(fed *Federation, n int) error {
	l = l.WithDefaults()
	switch {
	case l.Steps > 0 && l.Epochs > 0:
		return Invalid("Steps", l.Steps, "0 if Epochs is set: use one of them")
	case l.Batch < 1 && l.Batch != FullBatch:
		return Invalid("Batch", l.Batch, "at least 1, or fedkit.FullBatch")
	case !(l.LR > 0) || math.IsInf(l.LR, 0):
		return Invalid("LR", l.LR, "a number > 0")
	}
	return fed.fitsLocal(l, n)
}
