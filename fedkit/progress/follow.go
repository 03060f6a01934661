package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/interrupt"
)

// Follow shows the line of a run that another program computes, until it is over, as Line does. The path is its
// Options.Checkpoint or Options.History. It returns the history, without what is recorded per client: see history.LoadLight. A run
// that was stopped, failed or was killed is Stopped, and its line says so.
//
// The stop button of a notebook ends Follow, and leaves the run alone.
//
// Errors: no such file; a file that is no history's, or was altered.
func Follow(path string) (*fedkit.History, error) { return New(nil).Follow(path) }

// mayFail is the number of consecutive reads that may fail: a read may hit the middle of a write.
const mayFail = 10

// Follow is the function Follow with the watcher's figure.
func (w *Watcher) Follow(path string) (*fedkit.History, error) {
	ctx, release := interrupt.Context(context.Background())
	defer release()
	f := &followed{path: path, start: w.now()}
	for failures := 0; ; {
		begin := time.Now()
		s, err := Read(path)
		switch {
		case err == nil:
			failures = 0
			f.see(s)
		case errors.Is(err, fs.ErrNotExist) && f.Status != nil: // a run without a checkpoint leaves no file
			f.Running = false
		case s == nil || !s.Running || failures == mayFail:
			return nil, fmt.Errorf("progress: follow: %w", err)
		default:
			failures, f.Status = failures+1, cmp.Or(f.Status, s)
		}
		over := !f.Running || ctx.Err() != nil
		if w.follow(f, over); over {
			return f.History, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(linePause, costShare/2*time.Since(begin))):
		}
	}
}

// followed is a run of another program.
type followed struct {
	*Status
	path  string
	start time.Time // first read

	from   int // rounds at that time
	fromAt time.Time
}

// see stores the latest state. While a run writes the end of its file, it looks like one that has yet to begin: then the earlier
// history stays.
func (f *followed) see(s *Status) {
	if s.Running && s.History == nil && f.Status != nil {
		s.History = f.History
	}
	f.Status = s
}

// pace returns seconds per round: measured between reads or, before that, as recorded in the rounds.
func (f *followed) pace() float64 {
	rounds := f.History.Rounds
	n := len(rounds)
	if f.from == 0 || n < f.from { // it started over
		f.from, f.fromAt = n, f.Updated
	}
	switch {
	case n > f.from:
		return f.Updated.Sub(f.fromAt).Seconds() / float64(n-f.from)
	case n > 1: // the first one compiles
		return (took(f.History) - rounds[0].Seconds - rounds[0].EvalTime) / float64(n-1)
	}
	return took(f.History)
}

// errEarly is the error of a run that ended before its last round: its file does not say why.
var errEarly = errors.New("stopped, killed or failed")

// follow shows the latest state.
func (w *Watcher) follow(f *followed, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	now := w.now()
	p := f.progress()
	w.runs, w.groups, w.late = []*Run{p}, nil, true
	if !over {
		w.update(p, now)
		return
	}
	w.showLine(p, now, true)
	w.draw(true)
}

// progress is the same as in Live, from the recorded times of rounds.
func (f *followed) progress() *Run {
	p := &Run{Ended: !f.Running, Planned: f.Planned, start: f.Updated, last: f.Updated}
	if f.History == nil {
		p.Run = compare.Run{History: &fedkit.History{}, Name: filepath.Base(f.path)}
		p.last = f.start
		if p.Ended {
			p.err = errEarly
		}
		return p
	}
	p.take(f.History, f.Planned, f.Updated)
	p.earlier, p.seconds = took(f.History), f.pace()
	if p.Ended && f.History.Stopped {
		p.err = errEarly
	}
	return p
}
