package convex

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/precision"
)

// RegressionGap returns the relative gap (F(x) − F*)/F* ≥ 0 as a function of the parameters x of a linear or logistic regression
// on any data:
//
//	F(x) = Σ_i (n_i/N) f_i(x) + (λ/2)‖x‖²
//
// Newton's method in float64 on the examples of all clients computes the minimum F*.
//
// Errors: another model, or no minimum: too few rows, or without λ classes that can be separated; from the function, another number
// of parameters.
func RegressionGap(fed *fedkit.Federation, l2 float64) (func(x []float32) (float64, error), error) {
	switch {
	case fed == nil || !Regression(fed):
		return nil, fedkit.Invalid("fed", "another model", "a federation whose model is linear or logistic regression")
	case fed.Task.Dim() > maxParameters:
		return nil, fedkit.Invalid("fed", fmt.Sprint(fed.Task.Dim(), " parameters"), fmt.Sprintf("at most %d, whose square is kept in memory", maxParameters))
	}
	var rows []int
	for _, c := range fed.Clients {
		rows = append(rows, c.Train...)
	}
	slices.Sort(rows)
	f := newProblem(fed.Data, rows, l2)
	w, err := f.Minimum()
	if err != nil {
		return nil, fmt.Errorf("optimum of the regression: %w", err)
	}
	least := f.Loss(w)
	return func(x []float32) (float64, error) {
		if len(x) != len(w) {
			return 0, fedkit.Invalid("len(x)", len(x), fmt.Sprintf("%d, the model's parameters", len(w)))
		}
		return max(0, f.Loss(precision.Double(x))-least) / least, nil
	}, nil
}

// maxParameters limits the parameters of an optimum.
const maxParameters = 10_000

// WithRegressionGap wraps s to note the suboptimality of its global model x after every round: "relative gap" is that of
// RegressionGap. A gap of 0 is left out, since gaps are plotted on a log scale.
//
//	h, err := fedkit.Run(ctx, fed, convex.WithRegressionGap(&strategy.FedSplit{Exact: true}, 0), fedkit.Options{Rounds: 50})
//	plot.Over(compare.Note("relative gap"), h).Show()
//
// Errors of a run: those of RegressionGap, or s has no global model.
func WithRegressionGap(s fedkit.Strategy, l2 float64) fedkit.Strategy {
	return &withRegressionGap{Of: s, L2: l2}
}

type withRegressionGap struct {
	Of    fedkit.Strategy
	L2    float64 `range:"[0,inf)"` // λ, weight of ½‖w‖² in every client's objective
	State struct{}

	gap func(x []float32) (float64, error) `config:"-"` // set by Start
}

func (s *withRegressionGap) Unwrap() fedkit.Strategy              { return s.Of }
func (s *withRegressionGap) Serve(r *fedkit.Round) fedkit.Serving { return s.Of.Serve(r) }

func (s *withRegressionGap) Start(r *fedkit.Round) (err error) {
	if s.gap, err = RegressionGap(r.Fed, s.L2); err != nil {
		return err
	}
	return s.Of.Start(r)
}

func (s *withRegressionGap) Round(r *fedkit.Round) error {
	if err := s.Of.Round(r); err != nil {
		return err
	}
	global := s.Of.Serve(r).Global
	if global == nil {
		return fedkit.Invalid("WithRegressionGap: strategy", "one without a global model", "one with a global model")
	}
	x, err := global.Host()
	if err != nil {
		return err
	}
	gap, err := s.gap(x)
	if gap > 0 {
		r.Note("relative gap", gap)
	}
	return err
}
