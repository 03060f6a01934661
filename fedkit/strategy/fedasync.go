package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
)

// FedAsync is asynchronous federated optimization (Xie et al., arXiv 1903.03934, Algorithm 1). Clients train on models x_τ of
// different staleness t − τ, and every result updates the global model on arrival:
//
//	α_t = α · s(t − τ)
//	x   ← (1 − α_t) x + α_t w_i
//
// Local.Prox is the paper's ρ, which keeps w_i near x_τ. With Updates, x ← x + α_t (w_i − x_τ), as in later papers: changes of
// x since τ are kept. Unseen clients use the global model.
// Identities: with Concurrency = 1 nothing is stale, and both forms are the same; with Updates it is FedBuff with K = 1.
type FedAsync struct {
	Concurrency int             `range:"[1,inf)" default:"10, or all if they are fewer"` // clients training at a time
	Alpha       float64         `range:"(0,1]" default:"0.6"`                            // α, weight of a fresh result
	Staleness   Staleness       // s; default Poly: 1/√(1 + a)
	Updates     bool            // add w_i − x_τ instead of mixing x and w_i
	Selector    fedkit.Selector // chooses among idle clients; default uniformly at random
	Local       fedkit.Local    // local solver: E epochs, B examples per batch, η
	Asynchronous
}

// Check implements fedkit.Checker.
func (s *FedAsync) Check(fed *fedkit.Federation, _ int) error {
	if s.Updates {
		if err := fed.AllTrained("Updates", true); err != nil {
			return err
		}
	}
	return checkWork(fed, "K", s.Concurrency, 1)
}

// Round applies one result.
func (s *FedAsync) Round(r *fedkit.Round) error {
	x := s.State.Global.X
	u := r.TrainAsync(&s.State.InFlight, fedkit.Async{Concurrency: working(s.Concurrency, r.Clients()), Selector: s.Selector, Job: fedkit.Job{Start: x, Local: s.Local}})
	alpha := discounts(cmp.Or[Staleness](s.Staleness, Poly{}), u, s.Alpha)
	from := x
	if s.Updates {
		from = u.Start
	}
	s.State.Global.X = x.Add(u.Models.Sub(from).Mix([][]float64{alpha}))
	return r.Err()
}
