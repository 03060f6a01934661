package study

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/progress"
)

// compute runs what is missing, some of it concurrently. The first error of the study itself ends it: an unwritable folder, ctx
// canceled. An interrupt ends it without an error. A run whose place something else takes is skipped.
func (s *Study) compute(ctx context.Context, missing []*plan) error {
	if err := s.writable(); err != nil {
		return err
	}
	ctx, release := interrupt.Context(ctx)
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := s.watcher(missing)
	findLonger(missing)
	queue := &queue{missing: slices.Clone(missing)}
	var working, following sync.WaitGroup
	for range s.sideBySide(missing) {
		working.Go(func() {
			for p := queue.take(ctx, s.Free); p != nil; p = queue.take(ctx, s.Free) {
				err := s.store(ctx, p, w)
				if p.lock.release(); errors.Is(err, errTaken) {
					p.blocked = fmt.Errorf("study: %s: %w", p.Run, errTaken)
				} else if err != nil {
					cancel(err)
				}
			}
		})
	}
	others, enough := context.WithCancel(ctx)
	following.Go(func() { s.follow(others, queue, w, false) })
	working.Wait()
	enough()
	following.Wait()
	for _, p := range missing {
		if p.blocked != nil && !errors.Is(p.blocked, errTaken) { // it was told
			w.Done(p.About, p.blocked)
		}
	}
	return s.ended(context.Cause(ctx), missing)
}

// ended turns what ended the study into its error.
func (s *Study) ended(err error, missing []*plan) error {
	left, blocked := 0, []error(nil)
	for _, p := range missing {
		if !p.stored {
			left++
		}
		if p.blocked != nil {
			blocked = append(blocked, p.blocked)
		}
	}
	switch {
	case err == nil && blocked == nil:
		return nil
	case err == nil:
		err = errors.Join(blocked[:min(3, len(blocked))]...)
	case errors.Is(err, fedkit.ErrStopped) && left < len(s.plans):
		s.sayf("stopped: %d of %d runs are left; those that had begun go on from their checkpoints next time\n", left, len(missing))
		return nil
	}
	return fmt.Errorf("study: %d of %d runs are left: %w", left, len(missing), err)
}

// follow tells the watcher of the runs that other processes finish, until none is left or ctx is done.
func (s *Study) follow(ctx context.Context, q *queue, w fedkit.Watcher, anyEnd bool) {
	for left := q.left(); len(left) > 0; left = q.left() {
		begun := map[string]bool{} // one listing is cheaper than many looks for what is not there
		folders, _ := os.ReadDir(s.Dir)
		for _, f := range folders {
			begun[f.Name()] = true
		}
		for _, p := range left {
			if begun[p.ID] && ctx.Err() == nil {
				if r := s.found(p, anyEnd); r != nil && q.remove(p) {
					p.end(r, w)
				}
			}
		}
		if !wait(ctx, glance) {
			return
		}
	}
}

// glance is the interval between looks for what others have finished.
var glance = 2 * time.Second

// wait reports whether the time has passed before ctx was done.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// found returns the run as another process has stored it, nil if none has. One that failed for an external reason counts if anyEnd.
func (s *Study) found(p *plan, anyEnd bool) *Run {
	r, err := p.look()
	if err != nil || !s.enough(r) && (!anyEnd || r.Finished.Equal(p.was)) {
		return nil
	}
	return r
}

// end notes how another process has ended the run, and tells the watcher.
func (p *plan) end(r *Run, w fedkit.Watcher) {
	p.take(r)
	p.stored = true
	h, _ := p.Light()
	if h != nil {
		h.Labels = nil // as in a run
	}
	w.Done(cmp.Or(h, p.About), p.Err())
}

// writable makes the folder, and refuses one that cannot be written to, or whose file system lacks what processes need that share it.
func (s *Study) writable() error {
	mine := filepath.Join(s.Dir, ".trial"+rand.Text())
	theirs := mine + "~"
	defer func() { _, _ = os.Remove(mine), os.Remove(theirs) }()
	err := os.MkdirAll(filepath.Join(s.Dir, tableFolder), 0o777)
	if err == nil {
		err = errors.Join(writeNew(mine, "mine"), writeNew(theirs, "theirs"))
	}
	if err != nil {
		return fmt.Errorf("study: Study.Dir = %s: must be a folder that can be written to: %w", s.Dir, err)
	}
	again, over := writeNew(mine, "again"), rename(theirs, mine)
	b, _ := os.ReadFile(mine)
	if _, left := os.Lstat(theirs); !errors.Is(again, fs.ErrExist) || over != nil || string(b) != "theirs" || left == nil {
		return fmt.Errorf("study: Study.Dir = %s: must be a folder whose file system has exclusive create and atomic rename, "+
			"such as a local disk, Lustre, or NFS 3 and later: here a file was made twice: %v; renamed over, with error %v, it held %q", s.Dir, again == nil, over, b)
	}
	return nil
}

// store computes a run and stores it, unless another process did meanwhile. Its error ends the study.
func (s *Study) store(ctx context.Context, p *plan, w fedkit.Watcher) error {
	if r := s.found(p, false); r != nil { // another process did, and may have been killed before it removed the checkpoint
		p.removeCheckpoint()
		p.end(r, w)
		return nil
	}
	if err := p.changed(); err != nil { // by a run before it, say
		return err
	}
	if err := p.lock.held(); err != nil { // until now it only read
		w.Done(p.About, err)
		return err
	}
	p.clear()
	if s.Recompute || p.other {
		p.removeCheckpoint()
	}
	defer checkpoint.Guard(p.Path(checkpointFile), p.lock.held)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.lock.ctx, func() { cancel(context.Cause(p.lock.ctx)) })()
	begin := time.Now()
	h, err := s.begin(ctx, p, w)
	if lost := p.lock.held(); errors.Is(lost, errTaken) {
		err = lost
	}
	w.Done(cmp.Or(h, p.About), err)
	switch {
	case errors.Is(err, errTaken), errors.Is(err, fedkit.ErrStopped):
		return err
	case h != nil && h.Stopped:
		return fedkit.ErrStopped
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	p.Seconds, p.Finished, p.About.Code, p.Commit, p.Error = time.Since(begin).Seconds(), time.Now().UTC().Truncate(time.Second), p.code, source.Commit(), ""
	p.Retry = false
	if err != nil {
		p.Error, p.Retry = err.Error(), !errors.Is(err, fedkit.ErrNotFinite)
	}
	if err := s.keep(ctx, p, h); err != nil {
		return err
	}
	p.stored = true
	return nil
}

// begin starts the run from its checkpoint or, if that is damaged, from round 0.
func (s *Study) begin(ctx context.Context, p *plan, w fedkit.Watcher) (*fedkit.History, error) {
	o := p.opts
	o.Watch = watch{w}
	if err := checkpoint.Own(o.Checkpoint); err != nil {
		return nil, err
	}
	_, none := os.Stat(o.Checkpoint)
	h, err := fedkit.Run(ctx, p.fed, p.strategy, o)
	damaged := err != nil && none == nil && ctx.Err() == nil && h != nil && len(h.Rounds) == 0 && !errors.Is(err, history.ErrNewer)
	if !damaged {
		return h, err
	}
	s.sayf("%s starts over: %v\n", p.Run, err)
	p.removeCheckpoint()
	return fedkit.Run(ctx, p.fed, p.strategy, o)
}

// room makes the run's folder. What cannot be written over is set aside. A file that is made there tells a network's file system that
// what it remembers of the folder may be outdated.
func (p *plan) room() error {
	errs := []error{aside(p.Path("."), fs.ModeDir), os.MkdirAll(p.Path("."), 0o777)}
	if f, err := os.CreateTemp(p.Path("."), ".fresh"); err == nil {
		_, _ = f.Close(), os.Remove(f.Name())
	}
	for _, file := range []string{entryFile, historyFile, modelsFile, tableFile, checkpointFile} {
		errs = append(errs, aside(p.Path(file), 0))
	}
	return errors.Join(errs...)
}

// clear removes leftovers of killed writes, and the stored files of a run that is recomputed, except its checkpoint.
func (p *plan) clear() {
	remove(slices.Concat(files(p.Path("."), "."), files(filepath.Join(p.dir, tableFolder), "."+p.ID),
		[]string{p.Path(entryFile), p.Path(historyFile), p.Path(modelsFile), p.Path(tableFile)}))
	p.Rounds, p.Accuracy, p.R2, p.Models, p.files, p.About.Early = 0, fedkit.Float(math.NaN()), nil, false, nil, ""
}

// files returns the paths in a folder whose names have a prefix. filepath.Glob would take a folder "runs [new]" for a pattern.
func files(dir, start string) (paths []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), start) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// keep writes the files of a run, the entry last, and removes the checkpoint.
func (s *Study) keep(ctx context.Context, p *plan, h *fedkit.History) error {
	if h != nil && len(h.Rounds) > 0 {
		p.Rounds, p.Accuracy, p.About.Early = len(h.Rounds), fedkit.Float(h.Accuracy()), h.Early
		if r2 := fedkit.Float(history.R2.Last(h)); h.Main() == history.R2 {
			p.R2 = &r2
		}
		err := h.Save(p.Path(historyFile))
		if err == nil {
			err = errors.Join(p.record(historyFile), p.writeTable(h))
		}
		if err != nil {
			return err
		}
	}
	if p.Models = s.Models && p.Error == ""; p.Models {
		if err := p.keepModels(ctx); err != nil {
			return err
		}
	}
	for _, q := range s.plans {
		if q.first == p {
			p.From = append(p.From, p.newIn(q.From)...)
		}
	}
	err := p.lock.held()
	if err == nil {
		err = p.write()
	}
	if err == nil && !p.Retry {
		s.handOn(p)
	}
	return err
}

// handOn gives the run's checkpoint to the next run that is the same for more rounds, and removes it if there is none.
func (s *Study) handOn(p *plan) {
	defer p.removeCheckpoint()
	if p.longer == nil || p.Error != "" {
		return
	}
	l, err := tryLock(p.longer.dir, p.longer.ID)
	if l == nil || err != nil { // it is being computed
		return
	}
	defer l.release()
	if len(files(p.longer.Path("."), entryFile))+len(files(p.longer.Path("."), checkpointFile)) > 0 || os.MkdirAll(p.longer.Path("."), 0o777) != nil {
		return
	}
	for _, path := range files(p.Path("."), checkpointFile) {
		_ = os.Rename(path, p.longer.Path(filepath.Base(path))) // else it begins with round 1
	}
}

// findLonger finds, for each run that is missing, the next that is the same for more rounds.
func findLonger(missing []*plan) {
	for _, p := range missing {
		p.longer = nil
		for _, q := range missing {
			if q.About.Seed != p.About.Seed || q.opts.Rounds <= p.opts.Rounds || p.longer != nil && q.opts.Rounds >= p.longer.opts.Rounds {
				continue
			}
			if d := vary(p.About, q.About); len(d) == 1 && d[0].Path == "Options.Rounds" {
				p.longer = q
			}
		}
	}
}

func (r *Run) removeCheckpoint() { remove(files(r.Path("."), checkpointFile)) }

func remove(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path) // it may not be there
	}
}

// sideBySide returns the number of concurrent runs. A run of a small model leaves processors idle, and one of few clients leaves
// workers idle; large ones keep all of them busy, and take memory.
func (s *Study) sideBySide(missing []*plan) int {
	n := s.Parallel
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
		for _, p := range missing {
			if p.opts.Workers != nil {
				n = max(n, p.opts.Workers.Concurrency())
			}
		}
		for _, p := range missing {
			n = min(n, p.fed.ConcurrentRuns())
		}
	}
	return max(1, min(n, len(missing)))
}

// PlanWatcher is a Watcher that can show the progress of a whole study.
type PlanWatcher interface {
	fedkit.Watcher
	// Plan is called once, before the first run of a study, with its number of runs, and how many of them are stored already and
	// not run. Done is called once for each other run, Start and Round for those that this process computes: concurrently if runs
	// are concurrent.
	Plan(runs, stored int)
}

// watcher returns the observer of all runs, and gives it the plan.
func (s *Study) watcher(missing []*plan) fedkit.Watcher {
	w := s.Watch
	if w == nil {
		w = progress.Line()
	}
	if p, ok := w.(PlanWatcher); ok {
		all := len(s.distinct())
		p.Plan(all, all-len(missing))
	}
	return w
}

// watch observes the rounds of one run. It reports the end once, also if the run begins twice, or not at all.
type watch struct{ fedkit.Watcher }

func (watch) Done(*fedkit.History, error) {}

func (w watch) Start(h *fedkit.History, of int) {
	if s, ok := w.Watcher.(interface{ Start(*fedkit.History, int) }); ok {
		s.Start(h, of)
	}
}

// queue holds the runs that this process does not compute yet.
type queue struct {
	mu      sync.Mutex
	missing []*plan
	next    time.Time // when it is worthwhile to look again at those that others compute
}

// take returns the first run that no other process computes, locked, and with room for it. While others compute all that
// are left, it waits, unless only a free one is wanted. It returns nil if none is left, or ctx is done.
func (q *queue) take(ctx context.Context, free bool) *plan {
	for ok := ctx.Err() == nil; ok; ok = wait(ctx, poll) {
		if p := q.try(); p != nil || free || len(q.left()) == 0 {
			return p
		}
	}
	return nil
}

func (q *queue) try() *plan {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now().Before(q.next) { // another worker has just looked
		return nil
	}
	for i := 0; i < len(q.missing); {
		p := q.missing[i]
		p.lock, p.blocked = tryLock(p.dir, p.ID)
		if p.lock == nil && p.blocked == nil { // another process computes it
			i++
			continue
		}
		q.missing = slices.Delete(q.missing, i, i+1)
		if p.blocked == nil {
			p.blocked = p.room()
		}
		if p.blocked == nil {
			return p
		}
		p.lock.release()
	}
	q.next = now().Add(poll)
	return nil
}

// remove reports whether the run was still there.
func (q *queue) remove(p *plan) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.missing)
	q.missing = slices.DeleteFunc(q.missing, func(o *plan) bool { return o == p })
	return len(q.missing) < n
}

// left returns the runs that are still there.
func (q *queue) left() []*plan {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.missing)
}
