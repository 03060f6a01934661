package strategy

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// CCFL is client-centric federated adaptive optimization (Sun et al., Algorithms 2 and 3). Clients decide when they take part and
// how much they do: client i fetches the model x_μ of that moment, takes K_{t,i} local steps, and sends
//
//	Δ_i = (w_i − x_μ)/K_{t,i}
//
// The server steps as soon as m of them are there, however old:
//
//	Δ = (1/m) Σ_i Δ_i,  x ← x + step(Δ)
//
// with Server as server.Adagrad (CC-FedAdagrad), server.Adam (CC-FedAdam), both in Reddi's form, or server.AMSGrad (CC-FedAMS).
// Its synchronous counterparts, which do not divide by K, are FedAvg, FedAvgM and FedAdam. K_{t,i} is
// what Local says or, with StepsMax, drawn whenever a client begins. A newcomer gets the global model.
// Identity: without delay, with as many steps for everyone and m = AtWork = M, it is FedOpt with a Δ that is K times smaller.
type CCFL struct {
	AtWork   int                    `range:"[1,inf)" default:"10, or all if they are fewer"`  // clients that take part at a time
	M        int                    `range:"[1,inf)" default:"10, or AtWork if that is less"` // m, results per step of the server
	StepsMin int                    `range:"[1,inf)" default:"1"`                             // with StepsMax: K_{t,i} at least
	StepsMax int                    `range:"[1,inf)" default:"as Local says"`                 // K_{t,i} at most, instead of the steps of Local
	Server   fedkit.ServerOptimizer // default server.Adam in Reddi's form
	Selector fedkit.Selector        // who takes part; default uniformly at random, of those that are idle
	Local    fedkit.Local           // local solver: K steps, B, η_l
	State    struct {
		Global State         // x, and the memory of the server optimizer
		Flight fedkit.Flight // the work under way
	}
}

// Check implements fedkit.Checker.
func (s *CCFL) Check(fed *fedkit.Federation, _ int) error {
	if s.StepsMin > max(1, s.StepsMax) {
		return fedkit.Invalid("StepsMin", s.StepsMin, fmt.Sprintf("at most %d, which is StepsMax", s.StepsMax))
	}
	return checkWork(fed, "M", s.AtWork, s.M)
}

// Start draws x; nobody is at work.
func (s *CCFL) Start(r *fedkit.Round) error {
	s.State.Flight = fedkit.Flight{}
	return s.State.Global.Start(r)
}

// Round implements fedkit.Strategy.
func (s *CCFL) Round(r *fedkit.Round) error {
	atWork, x := working(s.AtWork, r.Clients()), s.State.Global.X
	m, least := working(s.M, atWork), cmp.Or(s.StepsMin, 1)
	work := fedkit.Async{AtWork: atWork, Take: m, Selector: s.Selector, Job: fedkit.Job{Start: x, Local: s.Local}}
	if s.StepsMax > 0 {
		work.Steps = func(_ int, rng *rand.Rand) int { return least + rng.IntN(s.StepsMax-least+1) }
	}
	u := r.Arrive(&s.State.Flight, work)
	weights := make([]float64, len(u.Solves))
	for i, solve := range u.Solves {
		weights[i] = 1 / float64(m*max(1, solve.Steps))
	}
	return s.State.Global.stepBy(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.Adam{Form: server.Reddi}), u.Delta().Mix([][]float64{weights}))
}

// Serve gives every client x.
func (s *CCFL) Serve(r *fedkit.Round) fedkit.Serving { return s.State.Global.Serve(r) }
