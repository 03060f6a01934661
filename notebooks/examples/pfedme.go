package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// PFedMe is personalization with Moreau envelopes (T Dinh et al., arXiv 2006.08848, Algorithm 1). Clients fit personal models
// θ_i near copies w_i of the global model x, R times per round, and move the copies toward them:
//
//	θ_i ≈ argmin_θ f_i(θ) + (λ/2)‖θ − w_i‖²,  w_i ← (1−ηλ) w_i + ηλ θ_i,  x ← (1−β) x + (β/|S|) Σ_{i∈S} w_i
//
// In the paper, clients outside S train too, without being aggregated, and one batch serves the K steps for θ_i. Clients send
// the last θ_i, from which the server derives w_i. θ_i is State.W. Identity: with R = ηλ = β = 1, x is FedProx's with μ = λ and equal
// weights.
type PFedMe struct {
	Fraction  float64            // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local       // K (Steps or Epochs), B and learning rate of θ_i; its Prox is not used
	Rounds    int                `range:"[1,inf)" default:"20"`    // R, local rounds
	Lambda    float64            `range:"[0,inf)" default:"15"`    // λ, weight of the proximal term
	Eta       float64            `range:"(0,inf)" default:"0.005"` // η, learning rate of w_i
	Beta      float64            `range:"(0,inf)" default:"1"`     // β, weight of the mean in x
	Weighting strategy.Weighting // of w_i; default strategy.Equal, as in the paper
	strategy.Personal
}

// Check implements fedkit.Checker.
func (s *PFedMe) Check(fed *fedkit.Federation, _ int) error {
	if max(s.Beta, s.Eta*s.Lambda) > 1 {
		return fed.AllTrained("strategy", "PFedMe with β or ηλ > 1")
	}
	return nil
}

// Round implements fedkit.Strategy.
func (s *PFedMe) Round(r *fedkit.Round) error {
	u, w := s.train(r, r.Select(nil, s.Fraction))
	s.State.W = s.State.W.Put(u.Clients(), u.Local)
	s.State.X = s.State.X.Add(w.Mean(strategy.Weights(r, u, s.Weighting, strategy.Equal{})).Sub(s.State.X).Scale(s.Beta))
	return r.Err()
}

// train returns the last θ_i and w_i of S. All but the last θ_i are private.
func (s *PFedMe) train(r *fedkit.Round, S []int) (u *fedkit.Updates, w *fedkit.Matrix) {
	w = s.State.X.Repeat(len(S))
	job := fedkit.Job{Clients: S, Start: w, Local: s.Local, Down: 1} // x is received once
	for n := 1; n <= s.Rounds; n++ {
		job.Pulls, job.StayLocal = []fedkit.Pull{{To: w, Weight: s.Lambda}}, n < s.Rounds
		u = r.Train(job)
		w = w.Take(u.Positions...).Scale(1 - s.Eta*s.Lambda).Add(u.Models.Scale(s.Eta * s.Lambda))
		job.Clients, job.Start, job.Down = u.Clients(), u.Models, fedkit.Zero
	}
	return u, w
}

// ServeUnseen gives each unseen client a personal model, fitted near x as in a round.
func (s *PFedMe) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u, _ := s.train(r, r.AllClients())
	return fedkit.Serving{Global: s.State.X, Models: s.State.X.Repeat(r.Clients()).Put(u.Clients(), u.Models), Assign: r.AllClients()}
}
