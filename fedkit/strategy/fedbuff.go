package strategy

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// FedBuff is buffered asynchronous aggregation (Nguyen et al., arXiv 2106.06639, Algorithms 1 and 2). Clients are at work on
// models x_τ of different age. As soon as K results are in the buffer, the server steps:
//
//	Δ_i = w_i − x_τi
//	Δ̄   = (1/K) Σ_i s(t − τ_i) Δ_i
//	x   ← x + step(Δ̄)
//
// All results count the same, however many examples their clients have. A client whose result is in the buffer waits for the next
// model; any other is replaced as soon as it hands in or drops out. A newcomer gets the global model.
// Identities: with AtWork = K = M and no delay it is FedAvg on clients of equal size; with K = 1 it is FedAsync with Updates.
type FedBuff struct {
	AtWork    int                    `range:"[1,inf)" default:"10, or all if they are fewer"`  // clients at work at a time
	K         int                    `range:"[1,inf)" default:"10, or AtWork if that is less"` // size of the buffer, at most AtWork
	Staleness Staleness              // s; default Poly: 1/√(1 + a)
	Server    fedkit.ServerOptimizer // how x steps; default server.SGD: x + Δ̄
	Selector  fedkit.Selector        // who begins, of those that are idle; default uniformly at random
	Local     fedkit.Local           // local solver: E epochs, B examples per batch, η
	State     struct {
		Global State         // x, and the memory of the server optimizer
		Flight fedkit.Flight // the work under way
	}
}

// Check implements fedkit.Checker.
func (s *FedBuff) Check(fed *fedkit.Federation, _ int) error {
	return checkWork(fed, "K", s.AtWork, s.K)
}

// checkWork refuses more clients at work than there are, and to wait for more results than that.
func checkWork(fed *fedkit.Federation, field string, atWork, k int) error {
	if fed == nil {
		return nil
	}
	if atWork > fed.Size() {
		return fedkit.Invalid("AtWork", atWork, fmt.Sprintf("at most %d, the number of clients", fed.Size()))
	}
	if atWork = working(atWork, fed.Size()); k > atWork {
		return fedkit.Invalid(field, k, fmt.Sprintf("at most %d, which is AtWork", atWork))
	}
	return fed.Fits("AtWork", atWork, 2*float64(atWork))
}

// working returns n, or 10 of m if it is 0.
func working(n, m int) int { return cmp.Or(n, min(10, m)) }

// Start draws x; nobody is at work.
func (s *FedBuff) Start(r *fedkit.Round) error {
	s.State.Flight = fedkit.Flight{}
	return s.State.Global.Start(r)
}

// Round implements fedkit.Strategy.
func (s *FedBuff) Round(r *fedkit.Round) error {
	atWork, x := working(s.AtWork, r.Clients()), s.State.Global.X
	k := working(s.K, atWork)
	u := r.Arrive(&s.State.Flight, fedkit.Async{AtWork: atWork, Take: k, Selector: s.Selector, Job: fedkit.Job{Start: x, Local: s.Local}})
	mean := u.Delta().Mix([][]float64{weights(cmp.Or[Staleness](s.Staleness, Poly{}), u, 1/float64(k))})
	return s.State.Global.stepBy(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.SGD{}), mean)
}

// Serve gives every client x.
func (s *FedBuff) Serve(r *fedkit.Round) fedkit.Serving { return s.State.Global.Serve(r) }
