package fedkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/exclusive"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/participation"
	"fedkit.example/fedkit/internal/stopping"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/sim"
)

// Run runs the strategy and returns its history. An error names the round, and comes with the history so far. Canceling ctx is
// an error.
//
// Canceling ctx with the cause ErrStopped is not: the history of the finished rounds is returned with Stopped set, and the
// checkpoint can be resumed. The error is ErrStopped if no round was finished. In a notebook, the stop button does this to all
// current runs, and to those that the cell starts afterwards; pressed again after half a second or more, it ends the cell. Other
// programs handle interrupts themselves, unless they use notebook.Interruptible.
func Run(ctx context.Context, fed *Federation, s Strategy, o Options) (*History, error) {
	var last *History
	for h, err := range Rounds(ctx, fed, s, o) {
		last = h
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// Rounds runs the strategy in your own loop: after each round it yields the history so far, whose last record is that round's.
// An error is yielded once, at the end, with the history so far (nil if nothing could start). It ends when Run would.
//
// A run that resumes first yields the checkpoint's history. So a loop that looks at the last record, and was left by a break, is left
// there again, and each repeat has the same rounds. Options.StopAt ends a run early without a loop, in studies too.
//
//	for h, err := range fedkit.Rounds(ctx, fed, s, fedkit.Options{Rounds: 100}) {
//		if err != nil { … }
//		if h.Accuracy() > 0.97 { break }
//	}
func Rounds(ctx context.Context, fed *Federation, s Strategy, o Options) iter.Seq2[*History, error] {
	return func(yield func(*History, error) bool) {
		if ctx == nil {
			yield(nil, fmt.Errorf("fedkit: %w", Invalid("ctx", "nil", "a context, such as context.Background()")))
			return
		}
		ctx, release := interrupt.Context(ctx)
		defer release()
		if errors.Is(context.Cause(ctx), ErrStopped) {
			yield(nil, fmt.Errorf("fedkit: %w", ErrStopped))
			return
		}
		u, err := begin(fed, s, o)
		if err != nil {
			yield(nil, err)
			return
		}
		defer u.release()
		err = u.notifyStart()
		if err == nil && o.Workers != nil {
			var leave func()
			if u.on, leave, err = o.Workers.Open(ctx); err == nil {
				defer leave()
			}
		}
		if err == nil {
			err = u.start(ctx)
		}
		yielded := err == nil && len(u.h.Rounds) > 0
		for more := !yielded || yield(u.h, nil); more && err == nil && len(u.h.Rounds) < u.opts.Rounds; {
			if err = u.round(ctx); err == nil {
				yielded, more = true, yield(u.h, nil)
			}
		}
		err = u.stopped(ctx, err)
		if err = errors.Join(err, u.files.Finish(err)); err != nil {
			err = fmt.Errorf("fedkit: %s: %w", u.h.Name, err)
		}
		if failed := u.watching(func(w Watcher) { w.Done(u.h, err) }); failed != nil {
			err = errors.Join(err, fmt.Errorf("fedkit: %s: %w", u.h.Name, failed))
		}
		if err != nil || !yielded {
			yield(u.h, err)
		}
	}
}

// defaultConcurrency is the default of Options.Concurrency.
func defaultConcurrency() int { return max(runtime.GOMAXPROCS(0)/2, xla.Devices()) }

// defaultDevice runs programs outside of runs.
func defaultDevice() engine.Device { return engine.Here(defaultConcurrency()) }

// underway is the state of a run between rounds.
type underway struct {
	fed      *Federation
	strategy Strategy // what runs: a copy of the caller's, with its defaults
	opts     Options  // Rounds are fewer once StopAt has ended the run
	stop     *stopping.Rule
	on       engine.Device
	h        *History
	past     *participation.Log
	clock    *sim.Clock
	states   checkpoint.States // of what runs, and what else must outlive a round
	callers  checkpoint.States // of the caller's strategies, where they are read between rounds and after the run
	claims   exclusive.Claims  // the strategies, their States, the checkpoint
	memories *memories         // of the clients' optimizers, if they are kept; one of states
	bases    *bases            // who has the frozen parameters, if there are any; one of states
	clusters bool              // the strategy last served clusters
	files    *checkpoint.Files
}

// begin checks everything that can be checked before anything runs, and claims the run's exclusive resources.
func begin(fed *Federation, s Strategy, o Options) (_ *underway, err error) {
	u, all, err := describe(fed, s, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("fedkit: %s: %w", u.h.Strategy, err)
		}
	}()
	if _, err := fed.engine(); err != nil {
		return nil, err
	}
	if o.Checkpoint != "" {
		if err := checkpoint.CheckWritable(o.Checkpoint); err != nil {
			return nil, err
		}
	}
	u.on, u.past = engine.Here(cmp.Or(o.Concurrency, defaultConcurrency())), newPast(fed, all, o.Keep)
	if err = u.fill(s, all); err != nil {
		return nil, err
	}
	if uses(all, func(l Local) bool { return l.KeepMemory }) {
		u.memories = &memories{}
		u.states = append(u.states, u.memories)
	}
	if task.Thaw(fed.Task) != nil {
		u.bases = &bases{}
		u.states = append(u.states, u.bases)
	}
	if u.clock, err = newClock(fed); err != nil {
		return nil, err
	}
	u.claims = exclusive.Of(all, u.callers, o.Checkpoint)
	fed.reportLone(s)
	return u, u.claim()
}

// fill makes the copy of a strategy that runs.
func (u *underway) fill(s Strategy, all []Strategy) (err error) {
	copies, err := nested.ToRun(s, all)
	if err == nil {
		u.strategy, u.states, u.callers = copies[0], nested.States(copies), nested.States(all)
	}
	return err
}

// handBack gives the caller the States of what runs.
func (u *underway) handBack() { u.callers.Restore(u.states[:len(u.callers)]) }

// claim claims the run's exclusive resources, and refuses those that another run holds.
func (u *underway) claim() error {
	err := u.claims.Take()
	if err != nil {
		return err
	}
	files := u.opts.files()
	files.Thin = func(r *Record) { u.opts.Keep.scores(r, u.opts) }
	if u.files, err = checkpoint.Open(files, u.h, u.states); err != nil {
		u.claims.Release()
	}
	return err
}

// files returns the configuration of the run's files.
func (o Options) files() checkpoint.Config {
	c := checkpoint.Config{History: o.History, Checkpoint: o.Checkpoint, Every: o.CheckpointEvery, After: o.CheckpointAfter}
	if c.Every == 0 && c.After == 0 {
		c.Every = o.EvalEvery
	}
	return c
}

// release closes the files, and releases the claims.
func (u *underway) release() {
	u.files.Release()
	u.claims.Release()
}

// start starts the strategy, or resumes it from its checkpoint.
func (u *underway) start(ctx context.Context) error {
	defer u.handBack()
	r := u.newRound(ctx, 0)
	guard(r, func() error { return u.strategy.Start(r) })
	_, err := u.states.Settle()
	if r.Fail(err); r.err != nil {
		return fmt.Errorf("start: %w", r.err)
	}
	u.clusters = u.opts.EvalEvery > 1 && u.servesClusters(ctx)
	if err := u.checkSnapshot(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return u.resume(ctx)
}

// servesClusters reports whether the strategy serves clusters without an evaluation. One that cannot serve yet has none.
func (u *underway) servesClusters(ctx context.Context) bool {
	r := u.newRound(ctx, 0)
	guard(r, func() error { return evaluation{r}.cluster(u.strategy) })
	return r.err == nil && r.record.Clusters != nil
}

// checkSnapshot refuses a State that cannot be copied or saved, if the run will need it, before the first round rather than after.
func (u *underway) checkSnapshot() error {
	if u.opts.Checkpoint == "" {
		_, err := u.snapshot()
		return err
	}
	copies, err := u.states.Copy()
	if err != nil {
		return err
	}
	return copies.Encode(io.Discard)
}

// resume resumes from the checkpoint.
func (u *underway) resume(ctx context.Context) error {
	var err error
	atStart, serves := u.clusters, sync.OnceValue(func() bool { return u.servesClusters(ctx) })
	u.h.Rounds, err = u.files.Resume(func(r *Record) {
		if r.Round == 1 { // again, if the newest checkpoint is damaged
			u.past.Clear()
			u.opts.Rounds, u.clusters = u.stop.Rounds, atStart
		}
		if r.Round%u.opts.EvalEvery != 0 && r.Round < u.opts.Rounds { // it may have been the last of a run of fewer rounds
			r.LeaveOutEvaluation(r.Clusters != nil && u.clusters && serves())
		}
		u.see(r)
		if r.Round < u.opts.Rounds {
			r.FineTuned = nil
		}
		u.clock.Now = float64(r.Clock)
		u.opts.Keep.thin(r, u.opts)
	})
	if len(u.h.Rounds) > 0 {
		err = errors.Join(err, u.notifyStart())
	}
	return err
}

// notifyStart notifies a watcher that the run begins.
func (u *underway) notifyStart() error {
	return u.watching(func(w Watcher) {
		if w, ok := w.(interface{ Start(*History, int) }); ok {
			w.Start(u.h, u.opts.Rounds)
		}
	})
}

// watching calls the watcher, if there is one. A panic in it is an error of the run.
func (u *underway) watching(call func(w Watcher)) (err error) {
	defer fault.Recovered("Options.Watch", &err)
	if u.opts.Watch != nil {
		call(u.opts.Watch)
	}
	return nil
}

// round runs a round and adds it to the history.
func (u *underway) round(ctx context.Context) error {
	t := len(u.h.Rounds) + 1
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped after round %d of %d: %w", t-1, u.opts.Rounds, err)
	}
	r := u.newRound(ctx, t)
	if err := u.play(r); err != nil {
		return err
	}
	if err := r.record.Check(u.fed.Size()); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	u.see(r.record)
	if err := u.fineTune(r); err != nil {
		return err
	}
	kept := *r.record
	u.opts.Keep.thin(&kept, u.opts)
	u.h.Rounds = append(u.h.Rounds, kept)
	if err := u.files.Add(r.record); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	if err := u.watching(func(w Watcher) { w.Round(u.h, u.opts.Rounds) }); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	return nil
}

// see takes what later rounds know of a round, and ends the run there if StopAt says so.
func (u *underway) see(r *Record) {
	u.past.Add(r)
	u.clusters = r.Clusters != nil
	if u.h.Early = u.stop.See(*r); u.h.Early != "" {
		u.opts.Rounds = r.Round
	}
}

// stopped turns an interrupt's error into History.Stopped, if a round was finished.
func (u *underway) stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !canceled(err) || !interrupt.Stopped(ctx) {
		return err
	}
	if len(u.h.Rounds) == 0 {
		return fmt.Errorf("before round 1 was finished: %w", ErrStopped)
	}
	u.h.Stopped = true
	return nil
}

func canceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrStopped)
}

// newRound returns the Round for round t.
func (u *underway) newRound(ctx context.Context, t int) *Round {
	return &Round{T: t, Fed: u.fed, of: u.fed, ctx: ctx, opts: u.opts, on: u.on, record: &Record{Round: t}, rows: map[int]int{}, past: u.past, clock: u.clock, memories: u.memories, bases: u.bases}
}

// play runs one round and, if it is due, its evaluation.
func (u *underway) play(r *Round) error {
	u.states.Restore(u.callers) // the caller may have set them
	defer u.handBack()
	begin := time.Now()
	before, err := u.snapshot()
	r.Fail(err)
	guard(r, func() error { return u.strategy.Round(r) })
	if before != nil && errors.Is(r.err, errNoClients) {
		r.err = nil
		r.restoreStates(u.states, before)
	}
	r.record.StateBytes, err = u.states.Settle()
	r.Fail(err)
	r.settleClock()
	r.record.Seconds = time.Since(begin).Seconds()
	begin = time.Now()
	switch {
	case r.err != nil:
	case r.T%u.opts.EvalEvery == 0 || r.T == u.opts.Rounds:
		guard(r, func() error { evaluation{r}.evaluate(u.strategy); return r.err })
		r.record.EvalTime = time.Since(begin).Seconds()
	case u.clusters:
		guard(r, func() error { return evaluation{r}.cluster(u.strategy) })
		r.record.EvalTime = time.Since(begin).Seconds()
	}
	switch {
	case r.err == nil:
		return nil
	case canceled(r.err):
		return fmt.Errorf("stopped in round %d of %d: %w", r.T, r.opts.Rounds, r.err)
	}
	return fmt.Errorf("round %d: %w", r.T, r.err)
}

// snapshot returns copies of the States if the round may end without clients, and else nil.
func (u *underway) snapshot() (copies checkpoint.States, err error) {
	switch {
	case u.opts.Pace.Deadline > 0 && u.fed.Devices != nil, slices.ContainsFunc(u.fed.Devices, func(d sim.Device) bool { return d.Drop > 0 }):
		return u.states.Copy()
	case u.opts.NotFinite == Skip: // a State that cannot be copied ends the run only if a copy is needed
		copies, _ = u.states.Copy()
	}
	return copies, nil
}

// restoreStates restores States from their copies, except Flights: work in flight goes on.
func (r *Round) restoreStates(states, copies checkpoint.States) {
	flights := make([]InFlight, len(r.flight))
	for i, f := range r.flight {
		flights[i] = *f
	}
	states.Restore(copies)
	for i, f := range r.flight {
		*f = flights[i]
	}
}

// guard runs a step of a strategy, and turns a panic in it into the round's error.
func guard(r *Round, step func() error) {
	defer func() {
		if p := recover(); p != nil && r.err == nil {
			r.err = fmt.Errorf("panic: %w", fault.Panicked(p))
		}
	}()
	defer r.checkFed()
	if err := step(); r.err == nil {
		r.err = err
	}
}
