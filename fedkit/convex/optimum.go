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
// Newton's method in float64 on the examples of all clients computes the minimum F*. Logistic regression needs λ > 0: without it,
// the optimum is not unique, since adding one vector to the weights of all classes changes nothing.
//
// Errors: another model, or no unique optimum; from the function, another number of parameters.
func RegressionGap(fed *fedkit.Federation, l2 float64) (func(x []float32) (float64, error), error) {
	o, err := minimize(fed, l2)
	if err != nil {
		return nil, err
	}
	return o.gap, nil
}

// WithRegressionGap is WithGap for any data: it computes the optimum itself, as RegressionGap does.
func WithRegressionGap(s fedkit.Strategy, l2 float64) fedkit.Strategy {
	return &withRegressionGap{Of: s, L2: l2}
}

type withRegressionGap struct {
	Of    fedkit.Strategy
	L2    float64 `range:"[0,inf)"` // λ, weight of ½‖w‖² in every client's objective
	State struct{}

	best *optimum `config:"-"` // set by Start
}

func (s *withRegressionGap) Unwrap() fedkit.Strategy              { return s.Of }
func (s *withRegressionGap) Serve(r *fedkit.Round) fedkit.Serving { return s.Of.Serve(r) }

func (s *withRegressionGap) Start(r *fedkit.Round) (err error) {
	if s.best, err = minimize(r.Fed, s.L2); err != nil {
		return err
	}
	return s.Of.Start(r)
}

func (s *withRegressionGap) Round(r *fedkit.Round) error {
	if err := s.Of.Round(r); err != nil {
		return err
	}
	return noteGap(r, s.Of, s.best.gap)
}

// optimum is the objective over all clients' examples, with its minimum.
type optimum struct {
	*Problem
	least float64
}

func minimize(fed *fedkit.Federation, l2 float64) (*optimum, error) {
	switch {
	case fed == nil || !Regression(fed):
		return nil, fedkit.Invalid("fed", "another model", "a federation whose model is linear or logistic regression")
	case fed.Data.Classes > 0 && !(l2 > 0):
		return nil, fedkit.Invalid("L2", l2, "greater than 0 for logistic regression")
	}
	var rows []int
	for _, c := range fed.Clients {
		rows = append(rows, c.Train...)
	}
	slices.Sort(rows)
	f, zero := newProblem(fed.Data, rows, l2), make([]float64, fed.Task.Dim())
	w, err := f.Prox(zero, 0, zero)
	if err != nil {
		return nil, fmt.Errorf("optimum of the regression: %w", err)
	}
	return &optimum{f, f.Loss(w)}, nil
}

func (o *optimum) gap(x []float32) (float64, error) {
	if want := o.X.RawMatrix().Cols * o.K; len(x) != want {
		return 0, fedkit.Invalid("len(x)", len(x), fmt.Sprintf("%d, the model's parameters", want))
	}
	return max(0, o.Loss(precision.Double(x))-o.least) / o.least, nil
}
