package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// FLoRA sends all clients the matrices of LoRA that the clients of S trained, stacked, and adds their product to W₀ (Wang et al., arXiv
// 2409.05976):
//
//	A ← [A_1, …, A_n],  B ← [p_1 B_1; …; p_n B_n],   W₀ ← W₀ + (α/r) A B = Σ_{i∈S} p_i (W₀ + (α/r) A_i B_i),  p_i = n_i/N
//
// Each round starts from a new A, and B = 0. Traffic: x to all clients once; then each client of S sends its A and B, and all M
// clients receive all of them: |S| times FedAvg's model, or Σ_{i∈S} r_i/r times. x is [1, d]. Identity: the clients' mean is exact.
type FLoRA struct {
	Ranks    Ranks        // r_i by client; default the model's r
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	strategy.State
}

// Check implements fedkit.Checker.
func (s *FLoRA) Check(fed *fedkit.Federation, _ int) error { return adapted(fed, s.Ranks) }

// Round implements fedkit.Strategy.
func (s *FLoRA) Round(r *fedkit.Round) error {
	if r.T == 1 {
		r.Send([]int{fedkit.Cloud}, r.AllClients(), 1)
	}
	u := s.Ranks.train(r, s.X, s.Fraction, s.Local, false)
	rows, x := gathered(r, s.X, u)
	if r.Err() != nil {
		return r.Err()
	}
	for _, m := range adapters(r.Fed.Task) {
		AB, _, _ := m.means(rows, u.Examples())
		for i, v := range AB.RawMatrix().Data {
			x[m.w+i] = float32(float64(x[m.w+i]) + float64(x[len(x)-1])*v)
		}
		m.draw(r.Rand(m.name), x[m.a:m.b])
		clear(x[m.b : m.b+m.r*m.out])
	}
	s.X = fedkit.NewMatrix(x, 1, len(x))
	stacked := 0.
	for _, c := range u.Clients() {
		stacked += s.Ranks.share(r, c)
	}
	r.Send([]int{fedkit.Cloud}, r.AllClients(), stacked)
	return r.Err()
}
