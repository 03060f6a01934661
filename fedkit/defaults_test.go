package fedkit

import "testing"

// tagged records what its steps see.
type tagged struct {
	Mu    float64 `range:"[0,inf)" default:"0.1"`
	Every int     `range:"[1,inf)" default:"5"`
	Inner *tagged
}

func (s *tagged) Start(*Round) error   { return nil }
func (s *tagged) Round(*Round) error   { panic("in a step") }
func (s *tagged) Serve(*Round) Serving { return Serving{} }

// A step sees the defaults, also of a strategy inside; afterwards, even after a panic, the literal is as it was written.
func TestStepsSeeDefaults(t *testing.T) {
	s, r := &tagged{Mu: Zero, Inner: &tagged{Every: 2}}, &Round{}
	guard(r, s, func(Strategy) error {
		if s.Mu != 0 || s.Every != 5 || s.Inner.Mu != 0.1 || s.Inner.Every != 2 {
			t.Errorf("%+v, %+v", s, s.Inner)
		}
		s.Inner.Mu = 0.7 // the strategy's own change stays
		return s.Round(r)
	})
	if r.err == nil || s.Mu != Zero || s.Every != 0 || s.Inner.Mu != 0.7 {
		t.Errorf("%v, %+v, %+v", r.err, s, s.Inner)
	}
	if got := Defaults(tagged{Mu: Zero}); got.Mu != 0 || got.Every != 5 {
		t.Errorf("%+v", got)
	}
}

// Batches are of 32 examples unless it is said otherwise; the learning rate is 0.1 only if nothing is said.
func TestLocalDefaults(t *testing.T) {
	for _, c := range []struct{ given, want Local }{
		{Local{}, Local{Epochs: 1, Batch: 32, LR: 0.1, Optimizer: SGD{}}},
		{Local{LR: 0.3}, Local{Epochs: 1, Batch: 32, LR: 0.3, Optimizer: SGD{}}},
		{Local{Steps: 4, LR: 0.3, Prox: 1, Optimizer: Adam{}}, Local{Steps: 4, Batch: 32, LR: 0.3, Prox: 1, Optimizer: Adam{}}},
		{Local{Batch: FullBatch, LR: 0.3}, Local{Epochs: 1, Batch: FullBatch, LR: 0.3, Optimizer: SGD{}}},
		{Local{Epochs: 2}, Local{Epochs: 2, Batch: 32, Optimizer: SGD{}}},
	} {
		if got := c.given.WithDefaults(); got != c.want || got.WithDefaults() != got {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	if err := (Local{Epochs: 2}).Check(nil, 1); err == nil || err.Error() != "invalid: LR = 0: must be a number > 0" {
		t.Error(err)
	}
}
