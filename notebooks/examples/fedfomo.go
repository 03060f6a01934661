package examples

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// FedFomo mixes for each client the models that help it (Zhang et al., arXiv 2012.08565, Section 3.2): client i trains w_i from v_i,
// and moves towards the models that are better than v_i on its validation rows,
//
//	v_i ← v_i + Σ_{j∈S} p_ij (w_j − v_i),  p_ij ∝ max(0, L_i(v_i) − L_i(w_j)) / ‖w_j − v_i‖,  Σ_j p_ij = 1,
//
// or stays if none is. The federation must have validation rows: see partition.Validation. Clients of S receive all models of S; in the
// paper, some. V is [M, d]. Identity: LocalOnly, for clients that are alone in S and improve.
type FedFomo struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	State    struct {
		V *fedkit.Matrix // v_i [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *FedFomo) Check(fed *fedkit.Federation, _ int) error { return fed.NeedsValidation() }

// Start draws one model for all.
func (s *FedFomo) Start(r *fedkit.Round) error {
	s.State.V = r.Models(1).Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedFomo) Round(r *fedkit.Round) error {
	S := r.Select(nil, s.Fraction)
	u := r.Train(fedkit.Job{Clients: S, Start: s.State.V.Take(S...), Local: s.Local, Down: fedkit.Zero}) // v_i is the client's
	clients, n := u.Clients(), len(u.Results)
	loss := r.Losses(u.Models, datasets.ValidationPart, clients)
	both := fedkit.StackRows(u.Models, s.State.V.Take(clients...))
	apart := r.Points(both).Distances()
	mix := make([][]float64, n)
	for i, c := range clients {
		before := r.Losses(both.Take(n+i), datasets.ValidationPart, []int{c})[0][0]
		if r.Err() != nil {
			return r.Err()
		}
		mix[i] = make([]float64, 2*n)
		for j := range n {
			if gain := before - loss[j][i]; gain > 0 {
				mix[i][j] = gain / apart.At(j, n+i)
			}
		}
		if floats.Sum(mix[i]) == 0 {
			mix[i][n+i] = 1
		}
		floats.Scale(1/floats.Sum(mix[i]), mix[i])
	}
	r.Traffic(-float64(n), 0) // nobody receives its own v_i, whose loss is above
	s.State.V = s.State.V.Put(clients, both.Mix(mix))
	return r.Err()
}

// Serve gives every client its own model.
func (s *FedFomo) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.V, Assign: r.AllClients()}
}
