package examples

import (
	"slices"

	"fedkit.example/fedkit"
)

// DPSGD is decentralized parallel SGD (Lian et al., arXiv 1705.09056): without a server, each client trains its own model, sends it to
// its neighbors N_i, and mixes it with theirs, by Metropolis weights, which are symmetric and sum to 1 for each client:
//
//	x_i ← Σ_j W_ij w_j,  w_j ← local steps on f_j from x_j,  W_ij = 1/(1 + max(|N_i|, |N_j|)) for j ∈ N_i, 0 for other j ≠ i.
//
// With Before, models are mixed as they were before the step, as in the paper's Algorithm 1: x_i ← Σ_j W_ij x_j + w_i − x_i. Clients
// that drop out have no neighbors in that round. Identity: on the complete graph it is FedAvg of all clients with equal weights.
type DPSGD struct {
	Offsets []int        // the neighbors of client i are i ± o mod M: 1, …, ⌊M/2⌋ for the complete graph; default 1, a ring
	Before  bool         // mix the models before the local steps
	Local   fedkit.Local // local solver; one step in the paper
	State   struct {
		X *fedkit.Matrix // x_i [M, d]
	}
}

// Start gives every client the same model.
func (s *DPSGD) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1).Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *DPSGD) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local, Relayed: true})
	S, m, offsets := u.Clients(), r.Clients(), s.Offsets
	if offsets == nil {
		offsets = []int{1}
	}
	N, W, from, to := make([][]int, m), make([][]float64, m), []int(nil), []int(nil)
	for i := range m {
		for _, o := range offsets {
			N[i] = append(N[i], ((i+o)%m+m)%m, ((i-o)%m+m)%m)
		}
		slices.Sort(N[i])
		N[i] = slices.DeleteFunc(slices.Compact(N[i]), func(j int) bool { return j == i || !slices.Contains(S, i) || !slices.Contains(S, j) })
	}
	for i := range m {
		W[i], from = make([]float64, m), append(from, N[i]...)
		W[i][i] = 1
		for _, j := range N[i] {
			to, W[i][j] = append(to, i), 1/float64(1+max(len(N[i]), len(N[j])))
			W[i][i] -= W[i][j]
		}
	}
	r.Send(from, to, 1)
	if w, x := s.State.X.Put(S, u.Models), s.State.X; s.Before {
		s.State.X = x.Mix(W).Add(w.Sub(x))
	} else {
		s.State.X = w.Mix(W)
	}
	return r.Err()
}

// Serve gives every client its own model; the global one is their mean.
func (s *DPSGD) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.X.Mean(nil), Models: s.State.X, Assign: r.AllClients()}
}
