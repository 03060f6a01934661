package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	. "github.com/gomlx/gomlx/core/graph"
)

// Distill counters local forgetting by knowledge distillation (Hinton et al., arXiv 1503.02531), with
// x as the teacher:
//
//	loss = task's loss + λ T² KL(softmax(logits of x/T) ‖ softmax(logits/T)),  x ← Σ_{i∈S} (n_i/N) w_i.
//
// FedGKD (Yao et al., arXiv 2107.00778) with a buffer of one model is T = 1 and λ = γ/2. x is [1, d]. Identity: with λ = 0
// it is FedAvg.
type Distill struct {
	Fraction    float64      // share of the clients in a round, in (0, 1]; default all
	Local       fedkit.Local // local solver: E epochs, B examples per batch, η
	Weight      float64      `range:"[0,inf)" default:"0.1"` // λ, weight of the distillation term
	Temperature float64      `range:"(0,inf)" default:"1"`   // T, of both softmaxes
	strategy.State
}

// Check implements fedkit.Checker.
func (s *Distill) Check(fed *fedkit.Federation, _ int) error {
	return labeled(fed, "a teacher's outputs are logits")
}

// Round implements fedkit.Strategy.
func (s *Distill) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.X, Local: s.Local,
		Objective: taught{s.Weight, s.Temperature}, Extra: map[string]*fedkit.Matrix{"teacher": s.X}})
	s.X = u.Models.Mean(u.Examples())
	return r.Err()
}

type taught struct{ weight, temperature float64 }

// Loss implements fedkit.Objective. It reports the task's own loss.
func (o taught) Loss(b *fedkit.Batch) *Node {
	soft := func(logits *Node) *Node { return LogSoftmax(DivScalar(logits, o.temperature), -1) }
	teacher, student := soft(b.Forward(b.Model("teacher"))), soft(b.Out)
	divergence := ReduceSum(Mul(Exp(teacher), Sub(teacher, student)), -1) // [C, B]
	loss := b.Loss(b.Out)
	b.Report(loss)
	return Add(loss, MulScalar(divergence, o.weight*o.temperature*o.temperature))
}

// labeled refuses data without classes, and says why.
func labeled(fed *fedkit.Federation, why string) error {
	if fed != nil && !fed.Data.Labeled() {
		return fedkit.Invalid("Classes", fed.Data.Classes, "at least 2, and one label per example: "+why)
	}
	return nil
}
