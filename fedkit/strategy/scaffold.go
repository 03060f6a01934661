package strategy

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/server"
)

// SCAFFOLD corrects client drift with control variates (Karimireddy et al., arXiv 1910.06378, Algorithm 1): c_i
// estimates client i's gradient, c the mean gradient, and local steps are corrected by the difference,
//
//	w_i ← w_i − η (∇f_i(w_i; batch) + c − c_i)          K_i steps from x
//	c_i⁺ = c_i − c + (x − w_i)/(K_i η)                  option II, the default
//	c_i⁺ = ∇f_i(x)                                      option I: one more pass over the client's examples
//	x ← x + η_g (1/|S|) Σ_{i∈S} (w_i − x)
//	c ← c + (1/M) Σ_{i∈S} (c_i⁺ − c_i)
//
// The mean of the M local losses is minimized or, with a Weighting, Σ_i p_i f_i: then p_i/Σ_S p replaces 1/|S|, and p_i/Σ_M p
// replaces 1/M. K_i is the client's number of local steps, with Momentum its Local.StepSum. Option II infers mean gradients from plain steps, so it needs SGD
// clients, with Momentum or without; with Local.Prox the gradients are those of the proximal objective. Option I is for few local steps: with many,
// networks did not train (notebook 05). An Aggregator replaces both means over S. Traffic is twice FedAvg's each way.
//
// x and c are [1, d] and c_i [M, d], on the device: M models' worth of memory. Identity: since c = c_i = 0 at first, the
// first round is that of FedAvg with equal weights if η_g = 1.
type SCAFFOLD struct {
	Fraction   float64                // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector        // chooses the cohort; default uniformly at random
	Local      fedkit.Local           // local solver: K steps or E epochs, B, η
	Gradients  bool                   // option I: c_i⁺ is the gradient at x; default option II, from the update
	Aggregator fedkit.Aggregator      // default aggregate.Mean
	Weighting  Weighting              // default Equal, as in the paper
	Server     fedkit.ServerOptimizer // its η is η_g; default server.SGD with η_g = 1
	State      struct {
		X      *fedkit.Matrix   // x, [1, d]
		C, Ci  *fedkit.Matrix   // c [1, d] and c_i [M, d]
		Memory []*fedkit.Matrix // state of the server optimizer
	}
}

// Check implements fedkit.Checker.
func (s *SCAFFOLD) Check(fed *fedkit.Federation, _ int) error {
	if !s.Gradients && s.Local.StepSum(1) == 0 {
		return fedkit.Invalid("Local.Optimizer", fmt.Sprintf("%T", s.Local.Optimizer), "fedkit.SGD, or fedkit.Momentum without KeepMemory, unless Gradients is set for option I")
	}
	if s.Gradients && s.Local.ClipExamples > 0 {
		return fedkit.Invalid("Local.ClipExamples", s.Local.ClipExamples, "0 if Gradients is set: those of option I are not clipped")
	}
	return fed.Fits("clients", fed.Size(), float64(fed.Size()))
}

// Start draws x; the control variates are 0.
func (s *SCAFFOLD) Start(r *fedkit.Round) error {
	s.State.X, s.State.Memory = r.Models(1), nil
	s.State.C = fedkit.Zeros(1, s.State.X.Cols())
	s.State.Ci = s.State.C.Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *SCAFFOLD) Round(r *fedkit.Round) error {
	aggregator := cmp.Or[fedkit.Aggregator](s.Aggregator, aggregate.Mean{})
	optimizer := cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{})
	S := r.Select(s.Selector, s.Fraction)
	x, c := s.State.X, s.State.C
	job := fedkit.Job{Clients: S, Start: x, Local: s.Local, ReuseBatches: 1, Up: 2} // sends w_i, and c_i⁺ − c_i

	var descent *fedkit.Matrix // option I: −∇f_i(x), the result of one step of rate 1
	if s.Gradients {
		g := r.Train(fedkit.Job{Clients: S, Start: x, Local: s.Local.Gradient(), StayLocal: true, Down: 2}) // x and c
		job.Clients, job.Down, descent = g.Clients(), fedkit.Zero, g.Local.Sub(x)
	}
	job.Shift = c.Sub(s.State.Ci.Take(job.Clients...))
	u := r.Train(job)
	ci := s.State.Ci.Take(u.Clients()...)
	var next *fedkit.Matrix // c_i⁺
	if s.Gradients {
		next = descent.Take(u.Positions...).Scale(-1)
	} else {
		rate := make([]float64, len(u.Results)) // 1/(K_i η)
		for i, solve := range u.Results {
			rate[i] = 1 / (s.Local.StepSum(solve.Steps) * float64(solve.LR))
		}
		next = ci.Sub(c).Sub(u.Local.Sub(x).ScaleRows(rate)) // the client's own path, even under attack
	}

	p := Weights(r, u, s.Weighting, Equal{})
	step, memory := r.ServerStep(optimizer, aggregator.Aggregate(u.Models, p).Sub(x), s.State.Memory)
	s.State.X, s.State.Memory = x.Add(step), memory
	s.State.C = c.Add(aggregator.Aggregate(next.Sub(ci), p).Scale(Share(r, u, s.Weighting, Equal{})))
	s.State.Ci = s.State.Ci.Put(u.Clients(), next)
	return r.Err()
}

// Serve gives every client x.
func (s *SCAFFOLD) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
