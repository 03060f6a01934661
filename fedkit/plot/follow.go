package plot

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
)

// Follow shows a run that another program computes, a notebook whose page was closed for example: the line and the figure of
// Live, until the run is over. The path is that of its Options.Checkpoint or Options.History. It returns the history, without
// what is known of each client: see fedkit.LoadLight. A run that was stopped, failed or was killed is Stopped, and its line says so.
//
// The stop button ends Follow, and leaves the run alone.
//
// Errors: no such file; a file that is no history's, or was altered.
func Follow(path string) (*fedkit.History, error) {
	return follow(path, Live(filepath.Base(path)).(*live))
}

// FollowProgress is Follow without the figure.
func FollowProgress(path string) (*fedkit.History, error) {
	return follow(path, Progress().(*live))
}

// mayFail is how often in a row a file that is being written may be unreadable: it may be read in the middle of a write.
const mayFail = 10

func follow(path string, l *live) (*fedkit.History, error) {
	ctx, release := fedkit.Interruptible(context.Background())
	defer release()
	f := &followed{path: path, start: l.now()}
	for failures := 0; ; {
		begin := time.Now()
		s, err := fedkit.Look(path)
		switch {
		case err == nil:
			failures = 0
			f.see(s)
		case errors.Is(err, fs.ErrNotExist) && f.Sight != nil: // a run without a checkpoint leaves no file
			f.Going = false
		case s == nil || !s.Going || failures == mayFail:
			return nil, fmt.Errorf("plot: follow: %w", err)
		default:
			failures, f.Sight = failures+1, cmp.Or(f.Sight, s)
		}
		over := !f.Going || ctx.Err() != nil
		if l.follow(f, over); over {
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
	*fedkit.Sight
	path  string
	start time.Time // when it was first looked at

	from   int // rounds that there were then
	fromAt time.Time
}

// see takes the newest sight. While a run writes the end of its file, it looks like one that has yet to begin: what was seen
// of it stays.
func (f *followed) see(s *fedkit.Sight) {
	if s.Going && s.History == nil && f.Sight != nil {
		s.History = f.History
	}
	f.Sight = s
}

// pace returns seconds per round: as they went by or, before that, as the rounds say.
func (f *followed) pace() float64 {
	rounds := f.History.Rounds
	n := len(rounds)
	if f.from == 0 || n < f.from { // it has begun anew
		f.from, f.fromAt = n, f.Last
	}
	switch {
	case n > f.from:
		return f.Last.Sub(f.fromAt).Seconds() / float64(n-f.from)
	case n > 1: // the first one compiles
		return (took(f.History) - rounds[0].Seconds - rounds[0].EvalTime) / float64(n-1)
	}
	return took(f.History)
}

// errEarly is the end of a run before its last round: its file does not say why.
var errEarly = errors.New("stopped, killed or failed")

// follow shows what was seen.
func (l *live) follow(f *followed, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rescue()
	now := l.now()
	p := f.progress()
	l.runs, l.groups, l.late = []*progress{p}, nil, true
	if !over {
		l.update(p, now)
		return
	}
	l.showLine(p, now, true)
	l.showFigure(true)
}

// progress is that of Live, by the times that the rounds took.
func (f *followed) progress() *progress {
	p := &progress{over: !f.Going, of: f.Of, start: f.Last, last: f.Last}
	if f.History == nil {
		p.Run = compare.Run{History: &fedkit.History{}, Name: filepath.Base(f.path)}
		p.last = f.start
		if p.over {
			p.err = errEarly
		}
		return p
	}
	p.take(f.History, f.Of, f.Last)
	p.earlier, p.seconds = took(f.History), f.pace()
	if p.over && f.History.Stopped {
		p.err = errEarly
	}
	return p
}
