package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// APFL is adaptive personalized learning with a fixed α (Deng et al., arXiv 2003.13461, Algorithm 1). Client i uses the mixture
// α v_i + (1−α) x. Its personal v_i and a copy w_i of x are trained jointly:
//
//	w_i ← w_i − η ∇f_i(w_i),  v_i ← v_i − η ∇_v f_i(α v_i + (1−α) w_i),  x ← Σ_{i∈S} (n_i/N) w_i.
//
// A job trains one model, so the federation's model must be Twin's, which holds both; only w_i travels. An unseen client trains
// its v_i from x for a round. X is [1, d] and V [M, d]. Identities, unless Local.Optimizer mixes parameters as Clip does: x is
// FedAvg's for every α, and with α = 1 the v_i are those of LocalOnly.
type APFL struct {
	Fraction  float64            // share of the clients in a round, in (0, 1]; default all
	Local     fedkit.Local       // local solver: E epochs, B examples per batch, η
	Alpha     float64            `range:"[0,1]" default:"0.5"` // α, weight of the personal model in the mixture
	Alphas    Alphas             // α of a client's served mixture, chosen on its validation rows; default Alpha for all
	Weighting strategy.Weighting // of w_i; default strategy.ByExamples; the paper has strategy.Equal
	State     struct {
		X, V *fedkit.Matrix // x [1, d] and v_i [M, d]
	}
}

// Check implements fedkit.Checker.
func (s *APFL) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && !isTwin(fed.Task) {
		return fedkit.Invalid("model", fed.Task.Name, "made by examples.Twin")
	}
	return nil
}

// Start draws one model for all.
func (s *APFL) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1).Columns(0, r.Fed.Task.Dim()/2)
	s.State.V = s.State.X.Repeat(r.Clients())
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *APFL) Round(r *fedkit.Round) error {
	S, d := r.Select(nil, s.Fraction), s.State.X.Cols()
	u := r.Train(fedkit.Job{Clients: S, Start: fedkit.JoinColumns(s.State.V.Take(S...), s.State.X), Local: s.Local,
		Objective: mixture{s.Alpha}, Communicated: r.Mask("shared")})
	s.State.V = s.State.V.Put(u.Clients(), u.Models.Columns(0, d))
	s.State.X = u.Models.Columns(d, 2*d).Mean(strategy.Weights(r, u, s.Weighting, strategy.ByExamples{}))
	return r.Err()
}

// Serve gives every client its mixture; x is the global model.
func (s *APFL) Serve(r *fedkit.Round) fedkit.Serving {
	x := s.State.X
	mixed, assign := s.Alphas.mix(r, s.State.V, x, s.Alpha)
	return fedkit.Serving{Global: fedkit.JoinColumns(x, x), Models: fedkit.JoinColumns(mixed, x), Assign: assign}
}

// ServeUnseen gives each unseen client its mixture, after one round whose x is discarded.
func (s *APFL) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	own := &APFL{Local: s.Local, Alpha: s.Alpha, Alphas: s.Alphas}
	own.State.X, own.State.V = s.State.X, s.State.X.Repeat(r.Clients())
	r.Fail(own.Round(r))
	own.State.X = s.State.X
	return own.Serve(r)
}
