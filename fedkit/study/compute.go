package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export"
)

// compute runs what is missing, some side by side. The first error of the study itself ends it: a folder that cannot be
// written to, ctx canceled. An interrupt ends it without one.
func (s *Study) compute(ctx context.Context, missing []*plan) error {
	if err := s.writable(); err != nil {
		return err
	}
	ctx, release := fedkit.Interruptible(ctx)
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := s.watcher(missing)
	queue := &queue{missing: slices.Clone(missing)}
	var working sync.WaitGroup
	for range s.sideBySide(missing) {
		working.Go(func() {
			for {
				p, lock, err := queue.take(ctx)
				if p != nil {
					err = s.store(ctx, p, w)
					lock.release()
				}
				if err != nil {
					cancel(err)
				}
				if p == nil || err != nil {
					return
				}
			}
		})
	}
	working.Wait()
	return s.ended(context.Cause(ctx), missing)
}

// ended turns what ended the study into its error.
func (s *Study) ended(err error, missing []*plan) error {
	left := 0
	for _, p := range missing {
		if !p.stored {
			left++
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fedkit.ErrStopped) && left < len(s.plans):
		fmt.Fprintf(s.log(), "stopped: %d of %d runs are left; those that had begun go on from their checkpoints next time\n", left, len(missing))
		return nil
	}
	return fmt.Errorf("study: %d of %d runs are left: %w", left, len(missing), err)
}

// writable makes the folder, and refuses one that cannot be written to.
func (s *Study) writable() error {
	err := os.MkdirAll(filepath.Join(s.Dir, tableFolder), 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(s.Dir, ".writable"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("study: Study.Dir = %s: must be a folder that can be written to: %w", s.Dir, err)
	}
	return nil
}

// store computes a run and stores it, unless another process did meanwhile. Its error ends the study.
func (s *Study) store(ctx context.Context, p *plan, w fedkit.Watcher) error {
	if r, err := read(p.dir, p.ID); err == nil && r.Key == p.Key && !r.Retry && !s.Again && (r.Models || !s.Models) && p.problem == nil {
		p.take(r) // another process did
		p.stored = true
		w.Done(p.About, nil)
		return nil
	}
	if err := os.MkdirAll(p.Path("."), 0o777); err != nil {
		return err
	}
	p.clear()
	begin := time.Now()
	o := p.opts
	_, missing := os.Stat(o.Checkpoint)
	h, err := p.run(ctx, o, w)
	if err != nil && missing == nil && ctx.Err() == nil && (h == nil || len(h.Rounds) == 0) {
		fmt.Fprintf(s.log(), "%s begins anew: %v\n", called(p.Name, p.Labels), err)
		p.removeCheckpoint()
		h, err = p.run(ctx, o, w)
	}
	switch {
	case h != nil && h.Stopped:
		return fedkit.ErrStopped
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, fedkit.ErrStopped):
		return err
	}
	p.Seconds, p.Finished, p.About.Code, p.Error = time.Since(begin).Seconds(), time.Now().UTC().Truncate(time.Second), p.code, ""
	if err != nil {
		p.Error, p.Retry = err.Error(), !errors.Is(err, fedkit.ErrNotFinite)
	}
	if err := s.keep(ctx, p, h); err != nil {
		return err
	}
	p.stored = true
	return nil
}

// run runs it with a watcher that is told of its end, also if it cannot even begin.
func (p *plan) run(ctx context.Context, o fedkit.Options, w fedkit.Watcher) (*fedkit.History, error) {
	watch := &watch{Watcher: w}
	o.Watch = watch
	h, err := fedkit.Run(ctx, p.fed, p.strategy, o)
	if !watch.done {
		w.Done(p.About, err)
	}
	return h, err
}

// clear removes what killed writes have left, and what is stored of a run that is computed anew, but for its checkpoint.
func (p *plan) clear() {
	left, _ := filepath.Glob(p.Path(".*"))
	more, _ := filepath.Glob(filepath.Join(p.dir, tableFolder, "."+p.ID+"*"))
	for _, path := range append(append(left, more...), p.Path(entryFile), p.Path(historyFile), p.Path(modelsFile), p.table()) {
		_ = os.Remove(path)
	}
}

// keep writes the files of a run, the entry last, and removes the checkpoint.
func (s *Study) keep(ctx context.Context, p *plan, h *fedkit.History) error {
	if h != nil && len(h.Rounds) > 0 {
		p.Rounds, p.Accuracy = len(h.Rounds), fedkit.Float(h.Accuracy())
		if err := h.Save(p.Path(historyFile)); err != nil {
			return err
		}
		if err := export.Table(p.table(), p.ID, h); err != nil {
			return err
		}
	}
	if s.Models && p.Error == "" {
		if err := p.keepModels(ctx); err != nil {
			return err
		}
		p.Models = true
	}
	if err := p.write(); err != nil {
		return err
	}
	p.removeCheckpoint()
	return nil
}

func (r *Run) removeCheckpoint() {
	files, _ := filepath.Glob(r.Path(checkpointFile + "*"))
	for _, path := range files {
		_ = os.Remove(path)
	}
}

// sideBySide is how many runs go on at the same time. A run of a small model leaves processors idle; large ones keep all
// of them busy, and take memory.
func (s *Study) sideBySide(missing []*plan) int {
	n := s.Parallel
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
		for _, p := range missing {
			n = min(n, p.fed.SideBySide())
		}
	}
	return max(1, min(n, len(missing)))
}
