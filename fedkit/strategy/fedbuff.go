package strategy

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
	"gonum.org/v1/gonum/floats"
)

// FedBuff is buffered asynchronous aggregation (Nguyen et al., arXiv 2106.06639, Algorithms 1 and 2). Clients train on models
// x_τ of different staleness. Once the buffer holds K results, the server steps:
//
//	Δ_i = w_i − x_τi
//	Δ̄   = (1/K) Σ_i s(t − τ_i) Δ_i
//	x   ← x + step(Δ̄)
//
// A client whose result is in the buffer waits for the next model; its slot, like that of a dropout, goes to an idle client at
// once. Unseen clients use the global model.
// Identities: with Concurrency = K = M and no delay it is FedAvg with equal weights; with K = 1 it is FedAsync with Updates.
type FedBuff struct {
	Concurrency int                    `range:"[1,inf)" default:"10, or all if they are fewer"`       // clients training at a time
	K           int                    `range:"[1,inf)" default:"10, or Concurrency if that is less"` // buffer size, at most Concurrency
	Staleness   Staleness              // s; default Poly: 1/√(1 + a)
	Weighting   Weighting              // among the K results, beside s; default Equal, as in the paper
	Server      fedkit.ServerOptimizer // how x steps; default server.SGD: x + Δ̄
	Selector    fedkit.Selector        // chooses among idle clients; default uniformly at random
	Local       fedkit.Local           // local solver: E epochs, B examples per batch, η
	Asynchronous
}

// Check implements fedkit.Checker.
func (s *FedBuff) Check(fed *fedkit.Federation, _ int) error {
	return cmp.Or(fed.AllTrained("strategy", "FedBuff"), checkWork(fed, "K", s.Concurrency, s.K))
}

// checkWork rejects a concurrency above the number of clients, and a buffer larger than the concurrency.
func checkWork(fed *fedkit.Federation, field string, concurrency, k int) error {
	if fed == nil {
		return nil
	}
	if concurrency > fed.Size() {
		return fedkit.Invalid("Concurrency", concurrency, fmt.Sprintf("at most %d, the number of clients", fed.Size()))
	}
	if concurrency = working(concurrency, fed.Size()); k > concurrency {
		return fedkit.Invalid(field, k, fmt.Sprintf("at most %d, which is Concurrency", concurrency))
	}
	return fed.Fits("Concurrency", concurrency, 2*float64(concurrency))
}

// working returns n, or min(10, m) if n is 0.
func working(n, m int) int { return cmp.Or(n, min(10, m)) }

// Round implements fedkit.Strategy.
func (s *FedBuff) Round(r *fedkit.Round) error {
	concurrency, x := working(s.Concurrency, r.Clients()), s.State.Global.X
	k := working(s.K, concurrency)
	u := r.TrainAsync(&s.State.InFlight, fedkit.Async{Concurrency: concurrency, BufferSize: k, Selector: s.Selector, Job: fedkit.Job{Start: x, Local: s.Local}})
	p := discounts(cmp.Or[Staleness](s.Staleness, Poly{}), u, 1/float64(len(u.Results)))
	floats.Mul(p, relativeWeights(r, u, s.Weighting, Equal{}))
	return s.State.Global.stepBy(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{}), u.Delta().Mix([][]float64{p}))
}
