package fedkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
)

// forgetful keeps its model, but not in State.
type forgetful struct {
	mean
	State *struct{ lost int }
}

type stateless struct{ x *Matrix }

func (s *stateless) Start(r *Round) error   { s.x = r.Models(1); return r.Err() }
func (s *stateless) Round(r *Round) error   { return r.Err() }
func (s *stateless) Serve(r *Round) Serving { return Serving{Global: s.x} }

// wrapper counts the rounds of the strategy in it.
type wrapper struct {
	Strategy
	Loud  bool
	State struct{ Rounds int }
}

func (s *wrapper) Round(r *Round) error {
	s.State.Rounds++
	r.Note("rounds", float64(s.State.Rounds))
	return s.Strategy.Round(r)
}

func (s *wrapper) Unwrap() Strategy { return s.Strategy }

// closed hides that it wraps a strategy.
type closed struct{ Strategy }

type secret struct {
	stateless
	inner Strategy
	State struct{}
}

func (s *secret) Unwrap() Strategy { return s.inner }

type ensemble struct {
	mean
	All []Strategy
}

type inside struct {
	Inner mean
	stateless
	State struct{}
}

type hidden[S Strategy] struct {
	stateless
	inner S
	State struct{}
}

// keeps is a strategy whose State is of any type.
type keeps[T any] struct {
	stateless
	Any   any
	State T
}

func TestCheckpointsThatCannotWork(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	type twice struct {
		Deep map[string][]struct{ Do func() }
	}
	for _, c := range []struct {
		s    Strategy
		want string // "" if the run is fine
	}{
		{&stateless{}, "State = missing: must be an exported field with all that outlives a round (struct{} if nothing does)"},
		{&forgetful{}, "State.lost = unexported: must be exported, or encoding/gob leaves it out"},
		{&keeps[twice]{}, "State.Deep[…][…].Do = func(): must be of a type that encoding/gob saves whole"},
		{&keeps[chan int]{}, "State = chan int: must be"},
		{&keeps[map[any]int]{}, "State[key] = interface {}: must be"},
		{&keeps[[]*struct{ error }]{}, "State[…].error = unexported: must be"},
		{&closed{&mean{}}, "Strategy = *fedkit.mean: must be returned by a method Unwrap() fedkit.Strategy"},
		{&wrapper{Strategy: &closed{&mean{}}}, "Strategy.Strategy = *fedkit.mean: must be returned by a method Unwrap()"},
		{&wrapper{Strategy: &forgetful{}}, "Strategy.State.lost = unexported"},
		{&ensemble{All: []Strategy{nil, &mean{}}}, "All[1] = *fedkit.mean: must be returned by"},
		{&inside{}, "Inner = fedkit.mean: must be returned by"},
		{&hidden[Strategy]{inner: &mean{}}, "inner = unexported: must be exported and returned by a method Unwrap()"},
		{&hidden[*mean]{inner: &mean{}}, "inner = unexported: must be exported"},
		{&keeps[*int]{}, "State = *int: must be no pointer"},
		{&keeps[struct{}]{}, ""},
		{&keeps[struct {
			X    *Matrix
			Y    map[string][]*Matrix
			At   time.Time
			None struct{}
			_    int
		}]{}, ""},
		{&wrapper{Strategy: &wrapper{Strategy: &mean{}}}, ""},
	} {
		o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
		if c.want != "" {
			expect.Refused(t, c.want)(Run(context.Background(), fed, c.s, o))
			o.Checkpoint = ""
		}
		if _, err := Run(context.Background(), fed, c.s, o); err != nil {
			t.Errorf("%T with the checkpoint %q: %v", c.s, o.Checkpoint, err)
		}
	}
}

// What a wrapper wraps must be a strategy that is seen.
func TestWrappersThatCannotRun(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	loop := &wrapper{}
	loop.Strategy = loop
	for _, c := range []struct {
		s    Strategy
		want string
	}{
		{&wrapper{}, "strategy.Unwrap() = nil: must be a strategy"},
		{&wrapper{Strategy: (*mean)(nil)}, "strategy.Unwrap() = nil: must be a strategy"},
		{loop, "strategy.Unwrap() = *fedkit.wrapper: must be a strategy that does not wrap itself"},
		{&secret{inner: &mean{}}, "strategy.Unwrap() = *fedkit.mean: must be a pointer that an exported field of *fedkit.secret holds"},
		{&wrapper{Strategy: &mean{Local: Local{Batch: -2, LR: 1}}}, "Strategy.Local.Batch = -2"},
		{&wrapper{Strategy: &partial{Fraction: 2}}, "Fraction = 2"},
	} {
		expect.Refused(t, c.want)(Run(context.Background(), fed, c.s, Options{Rounds: 1}))
	}
}

// partial asks two of four clients.
type partial struct {
	mean
	Fraction float64
	Part     perRound
}

// perRound is a part that expects two clients.
type perRound struct{ N int }

func (p perRound) Check(_ *Federation, n int) error {
	if n != p.N {
		return Invalid("N", p.N, fmt.Sprint(n))
	}
	return nil
}

// A wrapped strategy resumes as it would alone, and so does what the wrapper keeps.
func TestWrappedStrategyResumes(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2, 5)
	make := func() *wrapper {
		inner := &partial{mean{Local: Local{Batch: 4, LR: 0.1}}, 0.5, perRound{2}}
		return &wrapper{Strategy: &wrapper{Strategy: inner}, Loud: true}
	}
	want := expect.Value(Run(context.Background(), fed, make(), Options{Rounds: 6}))(t)
	if want.Name != "partial" || want.Config.String() != "fedkit.wrapper{Loud: true, Strategy: fedkit.wrapper{Strategy: fedkit.partial{Fraction: 0.5, Local: {Batch: 4, LR: 0.1}, Part: {N: 2}}}}" {
		t.Errorf("%s, %s", want.Name, want.Config)
	}
	o := Options{Rounds: 6, Checkpoint: filepath.Join(t.TempDir(), "new", "checkpoint")}
	s := make()
	for h, err := range Rounds(context.Background(), fed, s, o) {
		expect.OK(t, err)
		if inner := s.Unwrap(); len(h.Rounds) == 1 {
			expect.Invalid(t)(Run(context.Background(), fed, inner, Options{Rounds: 1}))
		}
		if len(h.Rounds) == 4 {
			break
		}
	}
	got := expect.Value(Run(context.Background(), fed, make(), o))(t)
	for i := range want.Rounds {
		if a, b := want.Rounds[i], got.Rounds[i]; !reflect.DeepEqual(a.Scores, b.Scores) || !reflect.DeepEqual(a.Notes, b.Notes) {
			t.Errorf("round %d: %+v; without interruption %+v", i+1, b, a)
		}
	}
}

// shrinking starts with more than it keeps.
type shrinking struct {
	mean
	State struct {
		X    *Matrix
		Left int
		More map[string]int
	}
}

func (s *shrinking) Start(r *Round) error {
	s.State.X, s.State.Left, s.State.More = r.Models(1), 3, map[string]int{"a": 1}
	return r.Err()
}

func (s *shrinking) Round(r *Round) error {
	s.State.Left, s.State.More = 0, nil
	return r.Err()
}

func (s *shrinking) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// What became zero is zero after a resume, whatever Start sets.
func TestResumeForgetsStart(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	for range 2 {
		s := &shrinking{}
		if _, err := Run(context.Background(), fed, s, o); err != nil || s.State.Left != 0 || s.State.More != nil || s.State.X == nil {
			t.Errorf("%+v, %v", s.State, err)
		}
	}
}

func unexpected(*Round, *Job) { panic("a round was run") }

// A checkpoint that cannot be written is found before the first round, and leaves nothing behind.
func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	expect.OK(t, os.WriteFile(file, nil, 0o644))
	paths := []string{dir, dir + "/new/", file + "/checkpoint"}
	if os.Getuid() != 0 { // whom no mode stops
		closed := filepath.Join(dir, "closed")
		expect.OK(t, os.Mkdir(closed, 0o555))
		paths = append(paths, closed+"/checkpoint", closed+"/new/checkpoint")
	}
	for _, path := range paths {
		expect.Refused(t, "Options.Checkpoint = "+path+": must be a file that can be written")(
			Run(context.Background(), fed, &mean{Before: unexpected}, Options{Rounds: 2, Checkpoint: path}))
	}
	path := filepath.Join(dir, "good", "checkpoint")
	expect.Error(t)(Run(context.Background(), fed, &mean{Before: unexpected}, Options{Rounds: 2, Checkpoint: path}))
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v, %v without a round", left, err)
	}
}

// A checkpoint goes on for more rounds, and under no other options that change results.
func TestCheckpointsKeepTheirSettings(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for words, change := range map[string]func(*Options){
		"Options.EvalEvery: 2, was 1":                  func(o *Options) { o.EvalEvery = 2 },
		"Options.NotFinite: 1, was not set":            func(o *Options) { o.NotFinite = Skip },
		"Options.Keep: {Results: 2}, was not set":      func(o *Options) { o.Keep.Results = 2 },
		"must be another file than Options.Checkpoint": func(o *Options) { o.History = o.Checkpoint },
		"": func(o *Options) { o.Rounds = 5 },
	} {
		o := Options{Rounds: 4, Checkpoint: filepath.Join(t.TempDir(), "c")}
		upTo(t, fed, trained(), o, 2)
		change(&o)
		if h, err := Run(context.Background(), fed, trained(), o); words != "" {
			expect.Invalid(t, words)(err)
		} else if err != nil || len(h.Rounds) != 5 {
			t.Errorf("%v, %v", h, err)
		}
	}
}
