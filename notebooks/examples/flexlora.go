package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/mat"
)

// FlexLoRA averages the products of LoRA's matrices, and splits the mean again (Bai et al., arXiv 2402.11505): for
// each matrix, with the singular value decomposition on the server, in float64,
//
//	U Σ Vᵀ = Σ_{i∈S} (n_i/N) A_i B_i,   A ← U_r,  B ← Σ_r V_rᵀ,
//
// the best A B of rank r; with Σ in B, a singular value of 0 can still grow. A client with a rank of its own gets the first r_i columns
// and rows, the best of that rank. Traffic is FedAvg's, or r_i/r of it. x is [1, d]. Identity: if r is the smaller side of every matrix,
// A B is the mean.
type FlexLoRA struct {
	Ranks    Ranks        // r_i by client; default the model's r
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	strategy.State
}

// Check implements fedkit.Checker.
func (s *FlexLoRA) Check(fed *fedkit.Federation, _ int) error { return adapted(fed, s.Ranks) }

// Round implements fedkit.Strategy.
func (s *FlexLoRA) Round(r *fedkit.Round) error {
	u := s.Ranks.train(r, s.X, s.Fraction, s.Local, true)
	rows, x := gathered(r, s.X, u)
	if r.Err() != nil {
		return r.Err()
	}
	for _, m := range adapters(r.Fed.Task) {
		AB, _, _ := m.means(rows, u.Examples())
		var svd mat.SVD
		var U, V mat.Dense
		if !svd.Factorize(AB, mat.SVDThin) {
			r.Fail(fedkit.Invalid("the mean of A B of "+m.name, "without a singular value decomposition", "finite"))
			return r.Err()
		}
		svd.UTo(&U)
		svd.VTo(&V)
		clear(x[m.a : m.b+m.r*m.out])
		for k, sigma := range svd.Values(nil)[:min(m.r, m.in, m.out)] {
			for i := range m.in {
				x[m.a+i*m.r+k] = float32(U.At(i, k))
			}
			for j := range m.out {
				x[m.b+k*m.out+j] = float32(sigma * V.At(j, k))
			}
		}
	}
	s.X = fedkit.NewMatrix(x, 1, len(x))
	return r.Err()
}
