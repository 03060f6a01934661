package fedkit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/checkpoint"
)

// starter notes what it is told, with the number of rounds, and what ReadProgress says of the run's files while it goes on.
type starter struct {
	files []string
	told  []string
}

func (s *starter) note(what string, n, of int) {
	s.told = append(s.told, fmt.Sprintf("%s %d/%d", what, n, of))
}

func (s *starter) Start(h *History, of int) { s.note("start", len(h.Rounds), of) }
func (s *starter) Done(h *History, _ error) { s.note("done", len(h.Rounds), len(h.Rounds)) }
func (s *starter) Round(h *History, of int) {
	s.note("round", len(h.Rounds), of)
	for _, file := range s.files {
		if l, err := checkpoint.ReadProgress(file); err != nil || !l.Running || !l.History.Stopped {
			s.told = append(s.told, fmt.Sprintf("%s: %+v, %v", file, l, err))
		} else {
			s.note("seen", len(l.History.Rounds), max(l.Planned, len(l.History.Rounds)))
		}
	}
}

// A watcher is told of the start, also of the rounds of a checkpoint. A run whose checkpoint has all rounds is over at once. Its files
// tell other programs as much.
func TestWatchersAndLook(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "run")}
	o.History = o.Checkpoint + ".jsonl"
	for _, step := range []struct {
		rounds int
		want   []string
	}{
		{2, []string{"start 0/2", "round 1/2", "seen 1/2", "seen 1/2", "round 2/2", "seen 2/2", "seen 2/2", "done 2/2"}},
		{3, []string{"start 0/3", "start 2/3", "round 3/3", "seen 3/3", "seen 3/3", "done 3/3"}},
		{3, []string{"start 0/3", "start 3/3", "done 3/3"}},
	} {
		w := &starter{files: []string{o.Checkpoint, o.History}}
		o.Rounds, o.Watch = step.rounds, w
		if h := expect.Value(Run(context.Background(), fed, trained(), o))(t); len(h.Rounds) != step.rounds {
			t.Errorf("%d rounds: %v", step.rounds, h)
		}
		if !slices.Equal(w.told, step.want) {
			t.Errorf("%d rounds: told %q, want %q", step.rounds, w.told, step.want)
		}
		for _, file := range w.files {
			if s, err := checkpoint.ReadProgress(file); err != nil || s.Running || s.History.Stopped || len(s.History.Rounds) != step.rounds || s.Planned != step.rounds {
				t.Errorf("%s: %+v, %v", file, s, err)
			}
		}
	}
}

// failing panics when it is told something.
type failing struct{ at string }

func (f failing) told(what string) {
	if f.at == what {
		panic("so")
	}
}

func (f failing) Start(*History, int)  { f.told("start") }
func (f failing) Round(*History, int)  { f.told("round") }
func (f failing) Done(*History, error) { f.told("done") }

// A watcher that panics ends the run with an error, and the checkpoint is whole: the run can go on without it.
func TestWatchersThatPanic(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for at, rounds := range map[string]int{"start": 0, "round": 1, "done": 2} {
		o := Options{Rounds: 2, Checkpoint: filepath.Join(t.TempDir(), "run"), Watch: failing{at}}
		h, err := Run(context.Background(), fed, trained(), o)
		expect.Error(t, "Options.Watch: panic: so")(err)
		if len(h.Rounds) != rounds {
			t.Errorf("%s: %d rounds, want %d", at, len(h.Rounds), rounds)
		}
		w := &starter{}
		o.Watch = w
		if h := expect.Value(Run(context.Background(), fed, trained(), o))(t); len(h.Rounds) != 2 || w.told[len(w.told)-1] != "done 2/2" {
			t.Errorf("%s: %d rounds after it, told %q", at, len(h.Rounds), w.told)
		}
	}
}
