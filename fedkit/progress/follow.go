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
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/interrupt"
)

// Status is the progress of a run, as Read sees it.
type Status = checkpoint.Progress

// Read reads the progress of a run from the file that it writes, at the path of Options.History or Options.Checkpoint. It works
// from any process, does not disturb the run, and notices at once if the run was killed.
//
// Errors: no such file; a file that history.LoadLight refuses.
func Read(path string) (*Status, error) { return checkpoint.ReadProgress(path) }

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
	var s *Status // the latest
	for start, failures := w.now(), 0; ; {
		begin := time.Now()
		read, err := Read(path)
		switch {
		case err == nil:
			s, failures = latest(s, read), 0
		case errors.Is(err, fs.ErrNotExist) && s != nil: // a run without a checkpoint leaves no file
			s.Running = false
		case read == nil || !read.Running || failures == mayFail:
			return nil, fmt.Errorf("progress: follow: %w", err)
		default:
			s, failures = cmp.Or(s, read), failures+1
		}
		over := !s.Running || ctx.Err() != nil
		if w.follow(runOf(s, path, start), over); over {
			return s.History, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(linePause, costShare/2*time.Since(begin))):
		}
	}
}

// latest returns the state that was read last. While a run writes the end of its file, it looks like one that has yet to begin: then
// the earlier history stays.
func latest(before, read *Status) *Status {
	if read.Running && read.History == nil && before != nil {
		read.History = before.History
	}
	return read
}

// errEarly is the error of a run that ended before its last round: its file does not say why.
var errEarly = errors.New("stopped, killed or failed")

// follow shows the latest state of a run.
func (w *Watcher) follow(p *Run, over bool) {
	w.do(func(now time.Time) {
		w.runs, w.groups, w.late = []*Run{p}, nil, true
		if over {
			w.showLine(p, now, true)
			w.draw(true)
		} else {
			w.update(p, now)
		}
	})
}

// runOf returns the progress of the run in a file, which is followed since start.
func runOf(s *Status, path string, start time.Time) *Run {
	p := &Run{Ended: !s.Running}
	if s.History == nil {
		p.Run, p.Planned, p.last = compare.Run{History: &fedkit.History{}, Name: filepath.Base(path)}, s.Planned, start
	} else {
		p.advance(s.History, s.Planned, s.Updated)
	}
	if p.Ended && (s.History == nil || s.History.Stopped) {
		p.err = errEarly
	}
	return p
}
