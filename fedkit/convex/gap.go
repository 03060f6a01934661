package convex

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// WithGap wraps s to note the suboptimality of its global model x after every round: "relative gap" is (F(x) − F*)/F*, in
// float64, for a known optimum. A gap of 0 is left out, since gaps are plotted on a log scale.
//
//	h, err := fedkit.Run(ctx, fed, convex.WithGap(&strategy.FedSplit{Exact: true}, best), fedkit.Options{Rounds: 50})
//	plot.Over(compare.Note("relative gap"), h).Show()
//
// Errors of a run: s has no global model, or the optimum is that of another model.
func WithGap(s fedkit.Strategy, best *datasets.Optimum) fedkit.Strategy {
	g := &withGap{Of: s, best: best}
	if best != nil {
		g.Optimum = best.W
	}
	return g
}

type withGap struct {
	Of      fedkit.Strategy
	Optimum []float64 // identifies best in the configuration
	State   struct{}

	best *datasets.Optimum `config:"-"`
}

func (s *withGap) Unwrap() fedkit.Strategy { return s.Of }

// Check implements fedkit.Checker.
func (s *withGap) Check(*fedkit.Federation, int) error {
	if s.best == nil {
		return fedkit.Invalid("Optimum", "nil", "what Make returned with the data")
	}
	return nil
}

func (s *withGap) Start(r *fedkit.Round) error          { return s.Of.Start(r) }
func (s *withGap) Serve(r *fedkit.Round) fedkit.Serving { return s.Of.Serve(r) }

func (s *withGap) Round(r *fedkit.Round) error {
	if err := s.Of.Round(r); err != nil {
		return err
	}
	return noteGap(r, s.Of, func(x []float32) (float64, error) {
		gap, err := s.best.Gap(x)
		return gap / s.best.Loss, err
	})
}

// noteGap notes the relative gap of a strategy's global model.
func noteGap(r *fedkit.Round, s fedkit.Strategy, relative func(x []float32) (float64, error)) error {
	global := s.Serve(r).Global
	if global == nil {
		return fedkit.Invalid("WithGap: strategy", "one without a global model", "one with a global model")
	}
	x, err := global.Host()
	if err != nil {
		return err
	}
	gap, err := relative(x)
	if gap > 0 {
		r.Note("relative gap", gap)
	}
	return err
}
