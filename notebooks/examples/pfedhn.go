package examples

import (
	"math"

	"fedkit.example/fedkit"
)

// PFedHN trains a hypernetwork h at the server, which makes each client's model (Shamsian et al., arXiv 2103.04628, Algorithm 1):
//
//	θ_i = h(v_i; φ),  θ̃_i ← epochs on f_i from θ_i,  Δ_i = θ̃_i − θ_i    for i ∈ S
//	φ ← φ + α/|S| Σ_{i∈S} ∇_φ θ_iᵀ Δ_i,  v_i ← v_i + α ∇_{v_i} θ_iᵀ Δ_i
//
// h(v; φ) = b + W relu(c + U v) has one hidden layer; at first W is 0, so that all have one model b. The paper has one client in S. Only
// θ_i and θ̃_i travel. For unseen clients, v_i is trained from 0 for ten rounds, with φ fixed.
type PFedHN struct {
	Fraction  float64      // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local // local solver: E epochs, B examples per batch, η
	Alpha     float64      `range:"(0,inf)" default:"0.3"` // α, the server's step
	Embedding int          `range:"[1,inf)" default:"8"`   // k, size of v_i
	Hidden    int          `range:"[1,inf)" default:"64"`  // h, size of the hidden layer
	State     struct {
		V, U, W *fedkit.Matrix // v_i [M, k]; U and c, [1, (k+1)h]; W and b, [h+1, d]
	}
}

// Check implements fedkit.Checker.
func (s *PFedHN) Check(fed *fedkit.Federation, _ int) error {
	return fed.AllTrained("strategy", "PFedHN")
}

// Start draws b, v_i, U and c.
func (s *PFedHN) Start(r *fedkit.Round) error {
	b, u := r.Models(1), (s.Embedding+1)*s.Hidden
	s.State.V = r.Normal("embeddings", s.Embedding, r.AllClients()...)
	s.State.U = r.Normal("hidden", u).Scale(math.Sqrt(2 / float64(u)))
	s.State.W = fedkit.StackRows(fedkit.Zeros(s.Hidden, b.Cols()), b)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *PFedHN) Round(r *fedkit.Round) error {
	S, theta := r.Select(nil, s.Fraction), s.models()
	u := r.Train(fedkit.Job{Clients: S, Start: theta.Take(S...), Local: s.Local})
	delta := fedkit.Zeros(theta.Rows(), theta.Cols()).Put(u.Clients(), u.Delta())
	next := s.State.V.ApplyN(3, ascent, s.State.U, s.State.W, delta, s.Alpha, s.Alpha/float64(len(u.Results)))
	s.State.V, s.State.U, s.State.W = next[0], next[1], next[2]
	return r.Err()
}

// models returns θ_i, [M, d].
func (s *PFedHN) models() *fedkit.Matrix { return s.State.V.Apply(hypernetwork, s.State.U, s.State.W) }

// Serve gives every client θ_i.
func (s *PFedHN) Serve(r *fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.models(), Assign: r.AllClients()}
}

// ServeUnseen gives each unseen client h(v_i; φ).
func (s *PFedHN) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	own := *s
	own.Fraction, own.State.V = 1, fedkit.Zeros(r.Clients(), s.Embedding)
	for range 10 {
		r.Fail(own.Round(r))
		own.State.U, own.State.W = s.State.U, s.State.W
	}
	return own.Serve(r)
}
