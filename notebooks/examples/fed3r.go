package examples

import (
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/mat"
)

// Fed3R fits the last layer by ridge regression on the features z of the layers below, which stay as drawn (Fanì et al., arXiv
// 2406.01116). A client sends two sums once, after the first round that chooses it; rows of Z_i are [z, 1], those of Y_i one-hot labels, or
// targets:
//
//	G ← Σ_i Z_iᵀZ_i,  C ← Σ_i Z_iᵀY_i  over all clients so far,  W ← (G + λI)⁻¹ C
//
// W [f+1, k] are weights and biases. All but x is float64: a client sends (f+1)(f+2)/2 + (f+1)k numbers of 8 bytes, and receives x.
// Identity: after all clients, W is that of their examples in one place, for any partition and order. The model should start from a
// trained one: see weights.Pretrained.
type Fed3R struct {
	Fraction  float64 // share of the clients in a round, in (0, 1]; default all
	Lambda    float64 `range:"(0,inf)" default:"0.01"` // λ, of the biases too
	Normalize bool    // divide each class's weights and bias by the norm of its weights, as the authors' code does
	Layer     string  // whose outputs are the features; default: Task.Features, the input of the last layer
	State     struct {
		X       *fedkit.Matrix // x, [1, d]
		G, C, W []float64      // [f+1, f+1], [f+1, k], [f+1, k]
		Sent    []bool         // by client
	}
}

// Check implements fedkit.Checker.
func (s *Fed3R) Check(fed *fedkit.Federation, _ int) error {
	return fitsHead(fed, s.Layer, func(f, k float64) float64 { return (f + 1) * (f + 1 + 2*k) })
}

// Start draws the model.
func (s *Fed3R) Start(r *fedkit.Round) error {
	f, k, err := head(r.Fed, s.Layer)
	s.State.X, s.State.Sent = r.Models(1), make([]bool, r.Clients())
	s.State.G, s.State.C, s.State.W = make([]float64, (f+1)*(f+1)), make([]float64, (f+1)*k), make([]float64, (f+1)*k)
	r.Fail(err)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *Fed3R) Round(r *fedkit.Round) error {
	f, k, _ := head(r.Fed, s.Layer)
	S := slices.DeleteFunc(r.Select(nil, s.Fraction), func(i int) bool { return s.State.Sent[i] })
	if len(S) == 0 {
		return r.Err()
	}
	sent, G, C := slices.Clone(s.State.Sent), mat.NewSymDense(f+1, slices.Clone(s.State.G)), mat.NewDense(f+1, k, slices.Clone(s.State.C))
	for i, p := range features(r, s.State.X, s.Layer, S, f) {
		Z, ZY := regression(p, f, k)
		G.SymRankK(G, 1, Z.T())
		C.Add(C, ZY)
		sent[S[i]] = true
	}
	r.Send(S, []int{fedkit.Cloud}, 8*float64((f+1)*(f+2)/2+(f+1)*k)/float64(r.Fed.Task.Bytes()))
	s.State.Sent, s.State.G, s.State.C = sent, slices.Clone(G.RawSymmetric().Data), C.RawMatrix().Data
	W := solved(r, G, s.Lambda, C)
	s.State.W, s.State.X = W.RawMatrix().Data, withHead(r, s.State.X, W, f, s.Normalize)
	return r.Err()
}

// Serve implements fedkit.Strategy.
func (s *Fed3R) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
