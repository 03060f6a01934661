package strategy

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/internal/precision"
	"gonum.org/v1/gonum/floats"
)

// FedSplit is federated optimization by operator splitting (Pathak and Wainwright, arXiv 2005.05238, Algorithm 1): client i
// keeps z_i, and all clients participate in every round,
//
//	z_i½ = prox_i(2x − z_i),  prox_i(v) = argmin_w φ_i(w) + ‖w − v‖²/(2s)
//	z_i  ← z_i + 2 (z_i½ − x)
//	x    ← (1/M) Σ_i z_i.
//
// Its fixed point minimizes Σ_i φ_i, unlike those of FedProx and of FedAvg with several local steps: see
// convex.FixedPoint. If all φ_i have eigenvalues in [ℓ, L] and s = 1/√(ℓL), the distance falls by (√κ − 1)/(√κ + 1) per round
// or faster, κ = L/ℓ: see convex.Curvature and convex.SplitRate.
//
// The paper's φ_i sums over the examples of a client. Here φ_i = M (n_i/N) f_i + (λ/2)‖w‖², the same sum divided by the mean
// number of examples, so that what is minimized is Σ_i (n_i/N) f_i(w) + (λ/2)‖w‖². Only prox_i depends on the weights: relative
// to f_i, both squares are scaled by N/(M n_i).
//
// By default prox_i is inexact: the steps of Local, starting from x. Then the fixed point is the minimum only with full-batch
// gradients. Cold starts at 2x − z_i instead, and ends in a neighborhood that shrinks with the number of steps. η must be less
// than 2 over the largest eigenvalue of the proximal problem. Exact solves it on the host in float64, for linear and logistic
// regression; nothing is trained, so the history has no solves, and interceptors see nothing. It is rejected with devices,
// whose clock cannot time it. With local steps, a client that drops out keeps its z_i.
//
// The paper's conclusion proposes second-order and sketched solves: Newton takes that many of Newton's steps from x in place of
// gradient steps, also on the host and in float64, and Sketch replaces their Hessians by sketches: see convex.Problem.Newton. As at
// the optimum the gradient of the proximal problem is 0 at x, neither moves the fixed point.
//
// x is [1, d] and z [M, d]. One model travels each way. An attack on a client's upload does not change its z_i. Identity: a
// single client has z = x and z½ = prox(x), a step of the proximal point method taken twice as far.
type FedSplit struct {
	Step      float64      `range:"(0,inf)" default:"1"` // s, step size of prox_i
	L2        float64      `range:"[0,inf)"`             // λ, weight of ½‖w‖² in every client's objective
	Exact     bool         // solve prox_i exactly
	Newton    int          `range:"[1,inf)" default:"what Exact and Local say"` // Newton steps for prox_i
	Sketch    int          `range:"[1,inf)" default:"no sketch"`                // m, rows of the sketches of Newton's Hessians
	ColdStart bool         // start local steps at 2x − z_i
	Local     fedkit.Local // e (its Steps or Epochs), B, η, unless Exact or Newton; its Prox must stay 0
	State     struct {
		X    *fedkit.Matrix // x, [1, d]
		Z    *fedkit.Matrix // z, [M, d]; nil if Exact or Newton
		Wide [][]float64    // z if Exact or Newton, instead of Z
	}

	problems []*convex.Problem `config:"-"` // the clients', if Exact or Newton; set by Start
}

// onHost says whether prox_i is solved on the host.
func (s *FedSplit) onHost() bool { return s.Exact || s.Newton > 0 }

// refuse returns the error that the option for it must be left out.
func (s *FedSplit) refuse(why string) error {
	if s.Exact {
		return fedkit.Invalid("Exact", true, "false "+why)
	}
	return fedkit.Invalid("Newton", s.Newton, "0 "+why)
}

// Check implements fedkit.Checker.
func (s *FedSplit) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case s.Local.Prox != 0:
		return fedkit.Invalid("Local.Prox", s.Local.Prox, "0: FedSplit takes its proximal term from Step")
	case s.Exact && s.Newton > 0:
		return fedkit.Invalid("Newton", s.Newton, "0 if Exact is set, which takes as many steps as it needs")
	case s.Sketch > 0 && s.Newton == 0:
		return fedkit.Invalid("Sketch", s.Sketch, "0 without Newton")
	case s.Newton > 1e6: // on the host, a round cannot be interrupted
		return fedkit.Invalid("Newton", s.Newton, "at most 1000000")
	case s.Sketch > 1e6:
		return fedkit.Invalid("Sketch", s.Sketch, "at most 1000000")
	case s.onHost() && s.ColdStart:
		return fedkit.Invalid("ColdStart", true, "false if Exact or Newton is set: there are no local steps")
	case s.onHost() && (s.Local.Batch != 0 || s.Local.LR != 0 || s.Local.Optimizer != nil):
		return fedkit.Invalid("Local", "local steps", "left out if Exact or Newton is set")
	case s.onHost() && fed != nil && fed.Devices != nil:
		return s.refuse("on a federation with devices: their clock counts examples, and cannot tell how long an exact solve takes")
	case s.onHost() && !convex.Regression(fed):
		return s.refuse("unless the model is linear or logistic regression")
	case fed == nil:
		return nil
	case fed.AllTrained("", nil) != nil:
		return fed.AllTrained("strategy", "FedSplit")
	case s.onHost():
		return fed.Fits("parameters", fed.Task.Dim(), 4*float64(fed.Task.Dim())) // Hessians in float64
	}
	return fed.Fits("clients", fed.Size(), float64(fed.Size()))
}

// Start draws x; every z_i is x.
func (s *FedSplit) Start(r *fedkit.Round) error {
	s.State.X, s.State.Z, s.State.Wide = r.Models(1), nil, nil
	if !s.onHost() {
		s.State.Z = s.State.X.Repeat(r.Clients())
		return r.Err()
	}
	x, err := s.State.X.Host()
	if err != nil {
		return err
	}
	for range r.Clients() {
		s.State.Wide = append(s.State.Wide, precision.Double(x))
	}
	s.problems = convex.Problems(r.Fed, s.L2)
	return convex.Matches(r, s.refuse)
}

// Round implements fedkit.Strategy.
func (s *FedSplit) Round(r *fedkit.Round) error {
	mu := make([]float64, r.Clients()) // weight of the proximal term relative to f_i: N/(M n_i s)
	shares := convex.Shares(r.Fed)
	for i, share := range shares {
		mu[i] = 1 / (s.Step * share)
	}
	if s.onHost() {
		return s.exact(r, mu)
	}
	return s.inexact(r, mu, shares)
}

// inexact solves with the steps of Local.
func (s *FedSplit) inexact(r *fedkit.Round, mu, shares []float64) error {
	x, z := s.State.X, s.State.Z
	v := x.Scale(2).Sub(z)
	pulls := []fedkit.Pull{{To: v, Weights: mu}}
	if s.L2 > 0 {
		l2 := make([]float64, len(shares))
		for i, share := range shares {
			l2[i] = s.L2 / share
		}
		pulls = append(pulls, fedkit.Pull{To: fedkit.Zeros(1, x.Cols()), Weights: l2})
	}
	job := fedkit.Job{Clients: r.AllClients(), Start: x, Local: s.Local, Pulls: pulls, Down: 1} // clients already have z_i
	if s.ColdStart {
		job.Start = v
	}
	u := r.Train(job)
	after := func(half *fedkit.Matrix) *fedkit.Matrix {
		return z.Put(u.Clients(), z.Take(u.Clients()...).Add(half.Sub(x).Scale(2)))
	}
	s.State.Z, s.State.X = after(u.Local), after(u.Models).Mean(nil)
	return r.Err()
}

// exact solves in float64. Only the served x is rounded.
func (s *FedSplit) exact(r *fedkit.Round, mu []float64) error {
	x := meanOfRows(s.State.Wide)
	next := make([][]float64, len(mu))
	for i, z := range s.State.Wide {
		v := floats.AddScaledTo(make([]float64, len(x)), x, -1, z)
		floats.Add(v, x)
		half, err := s.prox(r, i, v, mu[i], x)
		if err != nil {
			return fmt.Errorf("proximal problem of client %d: %w: lower Step", i, err)
		}
		floats.Sub(half, x)
		next[i] = floats.AddScaledTo(half, z, 2, half)
	}
	s.State.Wide = next
	s.State.X = fedkit.NewMatrix(precision.Single(meanOfRows(next)), 1, len(x))
	r.Traffic(float64(len(mu)), float64(len(mu)))
	return cmp.Or(r.Err(), s.State.X.Err())
}

// prox returns z_i½.
func (s *FedSplit) prox(r *fedkit.Round, i int, v []float64, mu float64, x []float64) ([]float64, error) {
	if s.Exact {
		return s.problems[i].Prox(v, mu, x)
	}
	return s.problems[i].Newton(v, mu, x, s.Newton, s.Sketch, r.Rand(fmt.Sprintf("sketch of client %d", i)))
}

// Serve gives every client x.
func (s *FedSplit) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

func meanOfRows(rows [][]float64) []float64 {
	mean := make([]float64, len(rows[0]))
	for _, row := range rows {
		floats.AddScaled(mean, 1/float64(len(rows)), row)
	}
	return mean
}
