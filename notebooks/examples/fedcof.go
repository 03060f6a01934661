package examples

import (
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// FedCOF fits the last layer like Fed3R, but from the clients' class means alone, whose spread shows the covariance of each class
// (Goswami et al., arXiv 2412.14326). A client sends the mean μ_iy [f] of its n_iy features of each class y that it has, once, after the
// first round that chooses it. Over the K_y clients so far that have class y, with N_y = Σ_i n_iy and μ_y = Σ_i n_iy μ_iy/N_y:
//
//	Σ_y ← Σ_i n_iy (μ_iy − μ_y)(μ_iy − μ_y)ᵀ / max(1, K_y − 1) + γI
//	G ← Σ_y (N_y − 1) Σ_y + N μμᵀ,  μ = Σ_y N_y μ_y/N,   w_y ← G⁻¹ N_y μ_y, divided by its norm
//
// Biases are 0. Numbers have 8 bytes, f+1 for each class; the client receives x. Identity: if every client has one example, Σ_y − γI is
// the sample covariance. Σ_y is unbiased if the clients' examples of a class are drawn alike.
type FedCOF struct {
	Fraction float64 // share of the clients in a round, in (0, 1]; default all
	Gamma    float64 `range:"(0,inf)" default:"1"` // γ, shrinkage
	Layer    string  // whose outputs are the features; default: Task.Features, the input of the last layer
	State    struct {
		X     *fedkit.Matrix // x, [1, d]
		Means [][]float64    // by client, μ_iy and n_iy for each class, [M, k(f+1)]; nil before it has sent them
	}
}

// Check implements fedkit.Checker.
func (s *FedCOF) Check(fed *fedkit.Federation, _ int) error {
	if err := labeled(fed, "means are by class"); err != nil {
		return err
	}
	return fitsHead(fed, s.Layer, func(f, k float64) float64 { return f*f + float64(fed.Size())*k*(f+1) })
}

// Start draws the model.
func (s *FedCOF) Start(r *fedkit.Round) error {
	s.State.X, s.State.Means = r.Models(1), make([][]float64, r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedCOF) Round(r *fedkit.Round) error {
	f, k, _ := head(r.Fed, s.Layer)
	S := slices.DeleteFunc(r.Select(nil, s.Fraction), func(i int) bool { return s.State.Means[i] != nil })
	if len(S) == 0 {
		return r.Err()
	}
	s.State.Means = slices.Clone(s.State.Means)
	for i, p := range features(r, s.State.X, s.Layer, S, f) {
		means, n := p.ClassMeans(k)
		for y := range means {
			s.State.Means[S[i]] = append(append(s.State.Means[S[i]], means[y]...), n[y])
		}
		has := k - floats.Count(func(n float64) bool { return n == 0 }, n)
		r.Send(S[i:i+1], []int{fedkit.Cloud}, 8*float64(has*(f+1))/float64(r.Fed.Task.Bytes()))
	}
	if r.Err() == nil {
		G, C := covariances(s.State.Means, f, k, s.Gamma)
		s.State.X = withHead(r, s.State.X, solved(r, G, 0, C), f, true)
	}
	return r.Err()
}

// Serve implements fedkit.Strategy.
func (s *FedCOF) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
