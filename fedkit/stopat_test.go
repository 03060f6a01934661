package fedkit_test

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/progress"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
)

// descent is federated averaging whose loss on Quadratic falls round by round.
func descent() *strategy.FedAvg {
	return &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 1, Batch: 8, LR: 0.01}}
}

// outcome is the State, and what was recorded, but for times.
func outcome(t *testing.T, s fedkit.Strategy, h *fedkit.History) []byte {
	t.Helper()
	return expect.Value(fedtest.Outcome(s, h))(t)
}

// A run ends at the evaluation at which its loss has reached a value, as one of so many rounds would. It says so, and has the same
// rounds when it is run again, for more rounds too.
func TestStopAt(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	whole := expect.Value(fedkit.Run(t.Context(), fed, descent(), fedkit.Options{Rounds: 20, EvalEvery: 3}))(t)
	loss := float64(whole.Rounds[8].Score().Loss)
	keep := fedkit.Keep{Scores: 2, Results: 4}
	nine := descent()
	want := expect.Value(fedkit.Run(t.Context(), fed, nine, fedkit.Options{Rounds: 9, EvalEvery: 3, Keep: keep}))(t)
	dir := t.TempDir()
	o := fedkit.Options{Rounds: 20, EvalEvery: 3, Keep: keep, StopAt: fedkit.StopAt{Quantity: "loss", Value: loss}, History: filepath.Join(dir, "h"), Checkpoint: filepath.Join(dir, "c")}
	for i, rounds := range []int{20, 20, 40, 9, 20} {
		o.Rounds = rounds
		s := descent()
		h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
		if len(h.Rounds) != 9 || h.Stopped || !bytes.Equal(outcome(t, s, h), outcome(t, nine, want)) {
			t.Fatalf("time %d: %d rounds, stopped %v: not what the first 9 rounds come to", i+1, len(h.Rounds), h.Stopped)
		}
		early := strings.HasPrefix(h.Early, "test loss of ") && strings.Contains(h.Early, " in round 9 reached ") && strings.Contains(h.String(), "ended early: "+h.Early)
		if early != (rounds > 9) || !early && h.Early != "" {
			t.Errorf("time %d: of %d rounds, early: %q", i+1, rounds, h.Early)
		}
		if s := expect.Value(progress.Read(o.Checkpoint))(t); i == 0 && (s.History.Stopped || s.History.Early != h.Early || len(s.History.Rounds) != 9) {
			t.Errorf("its checkpoint shows a run of %d rounds, stopped %v, early %q", len(s.History.Rounds), s.History.Stopped, s.History.Early)
		}
		if back := expect.Value(fedkit.Load(o.History))(t); !bytes.Equal(expect.Value(json.Marshal(back))(t), expect.Value(json.Marshal(h))(t)) {
			t.Errorf("time %d: the file has another history, early: %q", i+1, back.Early)
		}
	}
	if text := o.Config().String(); !strings.Contains(text, `StopAt: {Quantity: "loss", Value: `) {
		t.Errorf("the identity is %s", text)
	}
	if text := (fedkit.Options{Rounds: 20}).Config().String(); strings.Contains(text, "StopAt") {
		t.Errorf("the identity of a run without it is %s", text)
	}
	o.StopAt.Value /= 2
	expect.Invalid(t, "Options.StopAt.Value: ")(fedkit.Run(t.Context(), fed, descent(), o))
}

// A loop that is left at a condition has the same rounds each time that it goes on from its checkpoint.
func TestLoopsThatAreLeftAgain(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	o := fedkit.Options{Rounds: 20, Checkpoint: filepath.Join(t.TempDir(), "c")}
	for range 3 {
		seen, last := 0, (*fedkit.History)(nil)
		for h, err := range fedkit.Rounds(t.Context(), fed, descent(), o) {
			expect.OK(t, err)
			seen, last = seen+1, h
			if len(h.Rounds) >= 4 {
				break
			}
		}
		if len(last.Rounds) != 4 || seen != 4 && seen != 1 {
			t.Errorf("%d rounds, %d of them yielded", len(last.Rounds), seen)
		}
	}
}

// On clients with validation rows, these decide, unless it is to be the test rows.
func TestStopAtOnValidation(t *testing.T) {
	with, _ := validated(t)
	for quantity, rows := range map[string]string{"loss": "validation", "test loss": "test"} {
		h := expect.Value(fedkit.Run(t.Context(), with, descent(), fedkit.Options{Rounds: 2, StopAt: fedkit.StopAt{Quantity: quantity, Value: 100}}))(t)
		if !strings.HasPrefix(h.Early, rows+" loss of ") || len(h.Rounds) != 1 {
			t.Errorf("by the %s it ends after %d rounds: %q", quantity, len(h.Rounds), h.Early)
		}
	}
}

func TestStopAtThatCannotBe(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	for words, stop := range map[string]fedkit.StopAt{
		`Options.StopAt.Quantity = "accuracy": must be one of ["R²" "RMSE" "MAE" "loss" "f"], or one of these after "test "`: {Quantity: "accuracy", Value: 0.9},
		`Options.StopAt.Quantity = "test x": must be one of`:                                                                 {Quantity: "test x", Patience: 2},
		"Options.StopAt.Value = 90: must be at most 1, and an accuracy at least 0; 0 for none":                               {Value: 90},
		"Options.StopAt.Value = NaN: must be finite, or 0 for none":                                                          {Quantity: "loss", Value: math.NaN()},
		"Options.StopAt.Patience = -1: must be":                                                                              {Patience: -1},
		`Options.StopAt = "loss" alone: must be with a Value or a Patience`:                                                  {Quantity: "loss"},
	} {
		expect.Refused(t, words)(fedkit.Run(t.Context(), fed, descent(), fedkit.Options{Rounds: 2, StopAt: stop, Metrics: []fedkit.Metric{metric.Func("f", func(*fedkit.Predictions) float64 { return 0 })}}))
	}
}

// byLoss has two models, between which the loss chooses at an evaluation, and a selector that asks which they chose.
type byLoss struct {
	Selector fedkit.Selector
	Local    fedkit.Local
	State    struct{ X *fedkit.Matrix }
}

func (s *byLoss) Start(r *fedkit.Round) error { s.State.X = r.Models(2); return r.Err() }

func (s *byLoss) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(s.Selector, 0.5), Start: s.State.X.Take(r.T % 2), Local: s.Local})
	s.State.X = fedkit.StackRows(s.State.X.Take((r.T+1)%2), u.Models.Mean(nil))
	return r.Err()
}

func (s *byLoss) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.X, ByLoss: true}
}

// A run of fewer rounds evaluates its last one. Gone on for more rounds, it has what one of so many rounds has alone, and not that
// evaluation.
func TestMoreRoundsThanBefore(t *testing.T) {
	fed := expect.Value(expect.Value(fedtest.Quadratic())(t).HoldOut(1, 1))(t)
	local, never := descent().Local, fedkit.Never
	keeps := []fedkit.Keep{{}, {Scores: 2, Results: 3, Clusters: 2}, {Scores: never, Results: never, Clusters: never}}
	for i, fresh := range []func() fedkit.Strategy{
		func() fedkit.Strategy { return descent() },
		func() fedkit.Strategy { return &strategy.LocalOnly{Local: local} },
		func() fedkit.Strategy { return &strategy.CFL{Eps1: 100, Eps2: 1e-6, First: 3, Local: local} },
		func() fedkit.Strategy { return &strategy.IFCA{K: 2, Local: local} },
		func() fedkit.Strategy { return &byLoss{Local: local, Selector: selection.ByCluster{}} },
	} {
		for j, c := range []struct {
			every int
			of    []int
		}{{5, []int{7, 16}}, {2, []int{3, 9}}, {6, []int{7, 11, 14}}, {10, []int{3, 12, 13}}} {
			o := fedkit.Options{EvalEvery: c.every, Keep: keeps[(i+j)%len(keeps)], Checkpoint: filepath.Join(t.TempDir(), "c")}
			for k, n := range c.of {
				if o.Rounds = n; k > 0 { // it is interrupted once
					for h, err := range fedkit.Rounds(t.Context(), fed, fresh(), o) {
						expect.OK(t, err)
						if len(h.Rounds) > c.of[k-1] {
							break
						}
					}
				}
				s, alone := fresh(), fresh()
				h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
				straight := o
				straight.Checkpoint = ""
				want := expect.Value(fedkit.Run(t.Context(), fed, alone, straight))(t)
				if !bytes.Equal(outcome(t, s, h), outcome(t, alone, want)) {
					t.Errorf("%s, %+v, every %d: %d rounds after %v are not those of a run alone:\n%v\n%v", h.Name, o.Keep, c.every, n, c.of[:k], h, want)
				}
			}
		}
	}
}
