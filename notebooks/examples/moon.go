package examples

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// MOON is model-contrastive learning (Li et al., arXiv 2103.16257, Algorithm 1): a client's representations z of its
// examples are pulled toward those of the global model, and away from those of its previous local model,
//
//	loss = task's loss + μ · log(1 + exp((cos(z, z_previous) − cos(z, z_global))/T)),  x ← Σ_{i∈S} (n_i/N) w_i.
//
// z are the task's Features. x is [1, d] and Previous [M, d]; it stays with the clients, and is the initial model
// before their first round. Identity: with μ = 0 it is FedAvg.
type MOON struct {
	Fraction    float64      // share of the clients in a round, in (0, 1]; default all
	Local       fedkit.Local // local solver: E epochs, B examples per batch, η
	Mu          float64      `range:"[0,inf)" default:"1"`   // μ, weight of the contrastive term
	Temperature float64      `range:"(0,inf)" default:"0.5"` // T, of the contrastive term
	State       struct {
		X        *fedkit.Matrix // x, [1, d]
		Previous *fedkit.Matrix // each client's last local model, initially x, [M, d]
	}
}

// Start draws one model for all.
func (s *MOON) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.Previous = s.State.X.Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *MOON) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.X, Local: s.Local, Objective: contrast{s.Mu, s.Temperature},
		Extra: map[string]*fedkit.Matrix{"global": s.State.X, "previous": s.State.Previous.Take(S...)}})
	s.State.Previous = s.State.Previous.Put(u.Clients(), u.Local)
	s.State.X = u.Models.Mean(u.Examples())
	return r.Err()
}

// Serve gives every client x.
func (s *MOON) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

type contrast struct{ mu, temperature float64 }

// Loss implements fedkit.Objective. It reports the task's own loss.
func (o contrast) Loss(b *fedkit.Batch) *Node {
	z := b.Features(b.Params)
	alike := func(model string) *Node { return Squeeze(CosineSimilarity(z, b.Features(b.Model(model)), -1), -1) } // [C, B]
	loss := b.Loss(b.Out)
	b.Report(loss)
	pull := Softplus(DivScalar(Sub(alike("previous"), alike("global")), o.temperature))
	return Add(loss, MulScalar(pull, o.mu))
}
