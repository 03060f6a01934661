package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// Ditto trains a global model x by FedAvg, and a personal model per client with a proximal term to x (Li et al., arXiv
// 2012.04221, Algorithm 1):
//
//	v_i ≈ argmin_v f_i(v) + (λ/2)‖v − x‖²    for i ∈ S, from its last v_i
//	x   ← Σ_{i∈S} (n_i/N) w_i
//
// Both solves of a client see the same batches. Personal models stay with the clients; that of an unseen client starts from x.
// v_i is State.W. Identities: x is FedAvg's for every λ, and with λ = 0 the v_i are those of LocalOnly.
type Ditto struct {
	Fraction  float64            // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local       // E, B, η of both solves; its Prox applies only to w_i
	Lambda    float64            `range:"[0,inf)" default:"0.1"` // λ, weight of the proximal term
	Weighting strategy.Weighting // of w_i; default strategy.ByExamples; the paper leaves it open
	strategy.Personal
}

// Round implements fedkit.Strategy.
func (s *Ditto) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	v := r.Train(fedkit.Job{Clients: S, Start: s.State.W.Take(S...), Pulls: s.pull(), Local: s.Local, StayLocal: true, Down: 1})
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local, ReuseBatches: 1, Down: fedkit.Zero}) // clients already have x
	s.State.W = s.State.W.Put(v.Clients(), v.Models)
	s.State.X = u.Models.Mean(strategy.Weights(r, u, s.Weighting, strategy.ByExamples{}))
	return r.Err()
}

// pull is the proximal term to x.
func (s *Ditto) pull() []fedkit.Pull {
	return []fedkit.Pull{{To: s.State.X, Weight: s.Lambda}}
}

// ServeUnseen gives each unseen client a personal model, trained from x as in a round.
func (s *Ditto) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X, Pulls: s.pull(), Local: s.Local, StayLocal: true})
	return fedkit.Serving{Global: s.State.X, Models: s.State.X.Repeat(r.Clients()).Put(u.Clients(), u.Models), Assign: r.AllClients()}
}
