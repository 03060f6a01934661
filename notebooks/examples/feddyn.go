package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// FedDyn is dynamic regularization (Acar et al., arXiv 2111.04263, Algorithm 1). Each client keeps h_i, an estimate of its
// gradient at the common optimum, and the server keeps their mean h:
//
//	w_i ≈ argmin_w f_i(w) − ⟨h_i, w⟩ + (α/2)‖w − x‖²,  h_i ← h_i − α Δ_i    for i ∈ S
//	h ← h − (α/M) Σ_{i∈S} Δ_i,  x ← (1/|S|) Σ_{i∈S} w_i − h/α
//
// Clients have equal weights by default: the mean of the M local losses is minimized, even if clients disagree and solve their
// problems exactly. h_i never travels, so traffic is FedAvg's. x and h are [1, d] and h_i [M, d]. Identity: the first round, in
// which h_i = 0, is FedProx with μ = α, equal weights and a server step of 1 + |S|/M.
type FedDyn struct {
	Fraction  float64            // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local       // E, B, η; its Prox must stay 0
	Alpha     float64            `range:"(0,inf)" default:"0.1"` // α, weight of the dynamic regularizer
	Weighting strategy.Weighting // default strategy.Equal, as in the paper
	State     struct {
		X     *fedkit.Matrix // x, [1, d]
		H, Hi *fedkit.Matrix // h [1, d] and h_i [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *FedDyn) Check(fed *fedkit.Federation, _ int) error {
	if s.Local.Prox != 0 {
		return fedkit.Invalid("Local.Prox", s.Local.Prox, "0: it is Alpha")
	}
	return fed.AllTrained("strategy", "FedDyn")
}

// Start draws x; h and h_i are 0.
func (s *FedDyn) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.H = fedkit.Zeros(1, s.State.X.Cols())
	s.State.Hi = s.State.H.Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedDyn) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local, Pulls: []fedkit.Pull{{Weight: s.Alpha}},
		Shift: s.State.Hi.Take(S...).Scale(-1), Down: 1}) // the client has h_i
	p, step := strategy.Weights(r, u, s.Weighting, strategy.Equal{}), u.Delta().Scale(s.Alpha)
	own := u.Local.Sub(u.Start).Scale(s.Alpha) // the client's own, before any attack
	s.State.Hi = s.State.Hi.Put(u.Clients(), s.State.Hi.Take(u.Clients()...).Sub(own))
	s.State.H = s.State.H.Sub(step.Mean(p).Scale(strategy.Share(r, u, s.Weighting, strategy.Equal{})))
	s.State.X = u.Models.Mean(p).Sub(s.State.H.Scale(1 / s.Alpha))
	return r.Err()
}

// Serve gives every client x.
func (s *FedDyn) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
