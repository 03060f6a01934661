package fedkit

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// tagged records in its State what its steps see.
type tagged struct {
	Mu    float64 `range:"[0,inf)" default:"0.1"`
	Every int     `range:"[1,inf)" default:"5"`
	Inner *tagged
	State struct{ Saw []string }
}

func (s *tagged) Start(*Round) error {
	s.State.Saw = nil
	return s.Round(nil)
}

func (s *tagged) Round(r *Round) error {
	s.State.Saw = append(s.State.Saw, fmt.Sprint(s.Mu, s.Every, s.Inner.Mu, s.Inner.Every))
	s.Every++
	if r != nil && r.T > 2 {
		panic("in a step")
	}
	return nil
}

func (s *tagged) Serve(r *Round) Serving { return Serving{Global: r.Models(1)} }

// What runs is a copy with the defaults, also of a strategy inside, which are filled in once. The literal gets its State back, also after a
// panic, and stays as it was written. What is set there between rounds counts.
func TestStepsSeeDefaults(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	s := &tagged{Mu: Zero, Inner: &tagged{Every: 2}}
	want := []string{"0 5 0.1 2"}
	for h, err := range Rounds(context.Background(), fed, s, Options{Rounds: 3}) {
		if n := len(h.Rounds); n < 2 || err == nil {
			want = append(want, fmt.Sprint("0 ", 5+n, " 0.1 2"))
		} else {
			expect.Error(t, "round 3: panic: in a step")(err)
			want = append(want, "0 8 0.1 2")
		}
		expect.That(t, reflect.DeepEqual(s.State.Saw, want) && s.Mu == Zero && s.Every == 0 && s.Inner.Mu == 0 && s.Inner.Every == 2,
			"%+v, %+v, want %q", s, s.Inner, want)
		want, s.State.Saw = append(want, "set"), append(s.State.Saw, "set")
	}
	if got := Defaults(tagged{Mu: Zero}); got.Mu != 0 || got.Every != 5 {
		t.Errorf("%+v", got)
	}
}

// aliased holds a strategy twice: the copy of one field would wrap the original in the other.
type aliased struct{ Inner, in *tagged }

func (s *aliased) Start(r *Round) error   { return s.in.Start(r) }
func (s *aliased) Round(r *Round) error   { return s.in.Round(r) }
func (s *aliased) Serve(r *Round) Serving { return s.in.Serve(r) }
func (s *aliased) Unwrap() Strategy       { return s.in }

func TestWrappedOriginalsAreRefused(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	s := &tagged{Inner: &tagged{}}
	expect.Invalid(t, "strategy.Unwrap() = *fedkit.tagged: must be a pointer that an exported field of *fedkit.aliased holds")(
		Run(context.Background(), fed, &aliased{s, s}, Options{Rounds: 1}))
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
