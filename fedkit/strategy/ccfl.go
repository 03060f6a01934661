package strategy

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// CCFL is client-centric federated adaptive optimization (Sun et al., Algorithms 2 and 3). Clients choose when to participate
// and how many local steps to take: client i fetches the current model x_μ, takes K_{t,i} local steps, and sends
//
//	Δ_i = (w_i − x_μ)/K_{t,i}
//
// The server steps once the buffer holds m of them, whatever their staleness:
//
//	Δ = (1/m) Σ_i Δ_i,  x ← x + step(Δ)
//
// with Server as server.Adagrad (CC-FedAdagrad), server.Adam (CC-FedAdam), both in Reddi's form, or server.AMSGrad (CC-FedAMS).
// Its synchronous counterparts, which do not divide by K, are FedAvg, FedAvgM and FedAdam. K_{t,i} comes from Local or, with
// StepsMax, is drawn whenever a client starts. Unseen clients use the global model.
// Identity: without delay, with equal K_{t,i} and m = Concurrency = M, it is FedOpt with equal weights and Δ divided by K.
type CCFL struct {
	Concurrency int                    `range:"[1,inf)" default:"10, or all if they are fewer"`       // clients training at a time
	M           int                    `range:"[1,inf)" default:"10, or Concurrency if that is less"` // m, buffer size: results per server step
	StepsMin    int                    `range:"[1,inf)" default:"1"`                                  // least K_{t,i}, with StepsMax
	StepsMax    int                    `range:"[1,inf)" default:"as Local says"`                      // greatest K_{t,i}, instead of Local's steps
	Server      fedkit.ServerOptimizer // default server.Adam in Reddi's form
	Weighting   Weighting              // among the m results; default Equal, as in the paper
	Selector    fedkit.Selector        // chooses among idle clients; default uniformly at random
	Local       fedkit.Local           // local solver: K steps, B, η_l
	Asynchronous
}

// Check implements fedkit.Checker.
func (s *CCFL) Check(fed *fedkit.Federation, _ int) error {
	if s.StepsMin > max(1, s.StepsMax) {
		return fedkit.Invalid("StepsMin", s.StepsMin, fmt.Sprintf("at most %d, which is StepsMax", s.StepsMax))
	}
	return cmp.Or(fed.AllTrained("strategy", "CCFL"), checkWork(fed, "M", s.Concurrency, s.M))
}

// Round implements fedkit.Strategy.
func (s *CCFL) Round(r *fedkit.Round) error {
	concurrency, x := working(s.Concurrency, r.Clients()), s.State.Global.X
	m := working(s.M, concurrency)
	work := fedkit.Async{Concurrency: concurrency, BufferSize: m, Selector: s.Selector, Job: fedkit.Job{Start: x, Local: s.Local}}
	if s.StepsMax > 0 {
		work.Steps = func(_ int, rng *rand.Rand) int { return s.StepsMin + rng.IntN(s.StepsMax-s.StepsMin+1) }
	}
	u := r.TrainAsync(&s.State.InFlight, work)
	p := relativeWeights(r, u, s.Weighting, Equal{})
	for i, solve := range u.Results {
		p[i] /= float64(len(u.Results) * max(1, solve.Steps))
	}
	return s.State.Global.stepBy(r, cmp.Or[fedkit.ServerOptimizer](s.Server, server.Adam{Form: server.Reddi}), u.Delta().Mix([][]float64{p}))
}
