package fedkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/sim"
)

// Options say how long and how a strategy runs. The zero value, but for Rounds, is a usual run. Those that are not tagged
// `results:"same"` change results: they belong to a run's identity in its History, its checkpoint and a study's keys.
type Options struct {
	Rounds    int       `range:"[1,inf)"` // how many; required
	Seed      uint64    // for everything that is random: start, selection, batches
	Name      string    `results:"same"`                                       // the history's label; default: the strategy's name
	EvalEvery int       `range:"[1,inf)" default:"every round"`                // rounds from one evaluation to the next; the last round is always evaluated
	Workers   int       `range:"[1,inf)" default:"the default" results:"same"` // programs in flight at once; default: half the processors, at least one. Results do not depend on it
	NotFinite NotFinite // what to do when a client returns NaN or Inf; default Stop
	Watch     Watcher   `results:"same"` // told of the progress: plot.Live(); default none
	Metrics   []Metric  // recorded at every evaluation, beside loss and accuracy: metric.MacroF1{}, …; default none

	// Pace is how the server keeps to the simulated clock, on a federation with devices. Default: it waits for everyone.
	Pace Pace

	// ChooseOnTest also scores every client under the one of the clusters' models that has the lowest loss on the client's own *test*
	// examples, as Record.ChosenOnTest. The published code of IFCA judges this way. It is too kind, since labels are used that a
	// client does not have, and is there to compare with such figures. Without effect if there is no model for each cluster.
	ChooseOnTest bool

	// On is where the programs of the run run: a fleet of machines, from package fleet. Default: in this process.
	On Machines `results:"same"`

	// History is a file that the history is written to as rounds end, so that it is there if the run is killed: see Load, and
	// plot.Follow for a look at it while it grows.
	// A file of that name is overwritten when the first round is over. Default: none.
	History string `results:"same"`
	// Keep says what the history keeps of each client, and how often. Default: everything, of every round.
	Keep Keep

	// Checkpoint is a file that a run continues from if it is there already, for more rounds if Rounds is larger now; other
	// options must be what they were. It then ends with the same bytes as a run that was never interrupted. One that has all of its
	// rounds computes nothing. So a notebook whose page was closed or reloaded is simply run again, and plot.Follow shows the run
	// meanwhile, from another notebook. The file is written while the run goes on, and when it ends or is interrupted; folders are made
	// as needed. Beside it stand the rounds so far (".rounds") and the checkpoint before it (".before"), which is used if it
	// is damaged itself. To begin anew, remove the file: what stands beside it is then not used. Writing takes at most one part in
	// sixty of a run's time: if rounds are faster than that, not every one that is due is written, but the newest and the last. The
	// strategy must keep everything in a State that can be saved (see Strategy). Default: none.
	Checkpoint      string        `results:"same"`
	CheckpointEvery int           `range:"[1,inf)" default:"every evaluated round" results:"same"` // rounds from one checkpoint to the next
	CheckpointAfter time.Duration `range:"[1,inf)" default:"no limit" results:"same"`              // also write one when a round ends this long after the last. Without CheckpointEvery, it is the only rule
}

// Config returns the options that change results, as History.Settings has them.
func (o Options) Config() *config.Config { return o.settings() }

// NotFinite is what happens when a client's update holds NaN or Inf.
type NotFinite int

// What a run may do about them.
const (
	Stop NotFinite = iota // end with an error that names round and client
	Skip                  // leave the client out of the round, and its number in the record
)

// Check implements Checker.
func (n NotFinite) Check(*Federation, int) error {
	if n != Stop && n != Skip {
		return Invalid("", int(n), "fedkit.Stop or fedkit.Skip")
	}
	return nil
}

// Run runs the strategy and returns what happened. An error comes with the round in which it happened, and with the
// history so far. Canceling ctx is such an error.
//
// Ending ctx with the cause ErrStopped is not: the history of the rounds that were finished comes back with Stopped set, and a
// checkpoint can be continued. The error is ErrStopped if no round was finished. In a notebook the stop button does that to every
// run under way, and to those that the cell starts afterwards; half a second later or more it ends the cell. Other programs keep
// their interrupts, unless they ask for Interruptible.
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

// Rounds runs the strategy for a loop of your own: after each round it yields the history so far, whose last record is
// that round's. An error comes once, at the end, with the history so far (nil if nothing could start). What ends Run ends
// the loop. If no round is run, since a checkpoint has all of them or the program is interrupted, the checkpoint's history
// comes once.
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
		u.h.On = o.On
		u.starts()
		if o.On != nil {
			var leave func()
			if u.on, leave, err = o.On.Open(ctx); err == nil {
				defer leave()
			}
		}
		if err == nil {
			err = u.start(ctx)
		}
		yielded := false
		for more := true; more && err == nil && len(u.h.Rounds) < o.Rounds; {
			if err = u.round(ctx); err == nil {
				yielded, more = true, yield(u.h, nil)
			}
		}
		err = u.stopped(ctx, err)
		if err = errors.Join(err, u.files.Finish(err)); err != nil {
			err = fmt.Errorf("fedkit: %s: %w", u.h.Name, err)
		}
		if o.Watch != nil {
			o.Watch.Done(u.h, err)
		}
		if err != nil || !yielded {
			yield(u.h, err)
		}
	}
}

// usualWorkers is the default of Options.Workers.
func usualWorkers() int { return max(1, runtime.NumCPU()/2) }

// usualDevice is where programs run outside of runs.
func usualDevice() engine.Device { return engine.Here(usualWorkers()) }

// Machines run the programs of runs elsewhere. Package fleet makes them.
type Machines interface {
	// Open returns the device for a run, and what to call when the run is over.
	Open(ctx context.Context) (on engine.Device, leave func(), err error)
	// Device returns what History.Device and History.Hardware say of them.
	Device() (kind, hardware string, err error)
	// AtOnce returns how many programs they run at a time.
	AtOnce() int
	// String says in a line who is there, what they do and how much was moved, for the progress of a run.
	String() string
}

// underway is a run between two rounds.
type underway struct {
	fed      *Federation
	strategy Strategy
	opts     Options
	on       engine.Device
	h        *History
	past     *past
	clock    *clock
	states   checkpoint.States // of the strategy and those it wraps
	claims   []any             // what no other run may have: the strategies, their States, the checkpoint
	clusters bool              // the strategy served clusters last time
	files    *checkpoint.Files
}

// begin checks everything that can be checked before anything runs, and claims what the run needs.
func begin(fed *Federation, s Strategy, o Options) (u *underway, err error) {
	h, all, err := describe(fed, s, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			u, err = nil, fmt.Errorf("fedkit: %s: %w", h.Strategy, err)
		}
	}()
	o.EvalEvery = cmp.Or(o.EvalEvery, 1)
	if _, err := fed.engine(); err != nil {
		return nil, err
	}
	if o.Checkpoint != "" {
		if err := checkpoint.CheckWritable(o.Checkpoint); err != nil {
			return nil, err
		}
	}
	u = &underway{fed: fed, strategy: s, opts: o, on: engine.Here(cmp.Or(o.Workers, usualWorkers())), h: h, past: newPast(fed, all, o.Keep), states: statesOf(all)}
	if u.clock, err = newClock(fed); err != nil {
		return nil, err
	}
	u.claims = claimsOf(all, u.states, o.Checkpoint)
	return u, u.claim()
}

// running has what the runs under way have claimed.
var running sync.Map

// claimsOf returns the addresses of the strategies and their States, and the path of the checkpoint.
func claimsOf(all []Strategy, states []any, file string) []any {
	claims := slices.Clone(states)
	for _, s := range all {
		if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && v.Elem().Type().Size() > 0 {
			claims = append(claims, v.Interface())
		}
	}
	if path, err := filepath.Abs(file); file != "" && err == nil {
		claims = append(claims, path)
	}
	return claims
}

// claim refuses what another run has.
func (u *underway) claim() error {
	for i, claim := range u.claims {
		if _, busy := running.LoadOrStore(claim, true); busy {
			u.claims = u.claims[:i]
			u.release()
			if path, ok := claim.(string); ok {
				return Invalid("Options.Checkpoint", path, "a file of its own: another run writes this one")
			}
			return Invalid("strategy", "a value that is in another run", "one per run: its State cannot be shared")
		}
	}
	var err error
	if u.files, err = checkpoint.Open(u.opts.files(), u.h, u.states); err != nil {
		u.release()
	}
	return err
}

// files says which files a run has.
func (o Options) files() checkpoint.Config {
	c := checkpoint.Config{History: o.History, Checkpoint: o.Checkpoint, Every: o.CheckpointEvery, After: o.CheckpointAfter}
	if c.Every == 0 && c.After == 0 {
		c.Every = o.EvalEvery
	}
	c.Thin = func(r *Record) { o.Keep.scores(r, o) }
	return c
}

// release lets other runs have it.
func (u *underway) release() {
	u.files.Release()
	for _, claim := range u.claims {
		running.Delete(claim)
	}
}

// checkRun checks the options of a run and those of its strategy.
func checkRun(fed *Federation, all []Strategy, o Options, h *History) error {
	if isNil(reflect.ValueOf(o.Watch)) {
		return Invalid("Options.Watch", fmt.Sprintf("nil %T", o.Watch), "a value, or left out for none")
	}
	if isNil(reflect.ValueOf(o.On)) {
		return Invalid("Options.On", fmt.Sprintf("nil %T", o.On), "a fleet, or left out for none")
	}
	away := o.On != nil
	o.Watch, o.On = nil, nil // no options of the run
	if err := check("Options", o, fed, 0); err != nil {
		return err
	}
	if err := checkMetrics(o.Metrics); err != nil {
		return err
	}
	if o.History != "" && filepath.Clean(o.History) == filepath.Clean(o.Checkpoint) {
		return Invalid("Options.History", o.History, "another file than Options.Checkpoint")
	}
	for _, by := range fed.interceptors {
		if err := check("", by, fed, 0); err != nil {
			return err
		}
	}
	n, err := cohort(all, fed.Size())
	if err != nil {
		return err
	}
	if err := check("", all[0], fed, n); err != nil {
		return err
	}
	if err := fed.fitsRun(all, n); err != nil && !away { // what machines elsewhere have is not known here
		return err
	}
	if o.Checkpoint == "" {
		return nil
	}
	if err := h.Complete(); err != nil {
		return err
	}
	return checkStates(all)
}

// start lets the strategy start, or go on from its checkpoint.
func (u *underway) start(ctx context.Context) error {
	r := u.at(ctx, 0)
	guard(r, u.strategy.Start)
	_, err := u.states.Settle()
	if r.Fail(err); r.err != nil {
		return fmt.Errorf("start: %w", r.err)
	}
	if u.opts.EvalEvery > 1 { // a strategy that cannot serve yet serves no clusters
		first := u.at(ctx, 0)
		guard(first, func(r *Round) error { return r.cluster(u.strategy) })
		u.clusters = first.err == nil && first.record.Clusters != nil
	}
	if err := u.keep(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return u.resume()
}

// keep refuses a State that cannot be kept, if that has to be: rather now than after the first round.
func (u *underway) keep() error {
	if u.opts.Checkpoint == "" {
		_, err := u.before()
		return err
	}
	copies, err := u.states.Copy()
	if err != nil {
		return err
	}
	return copies.Encode(io.Discard)
}

// resume goes on from the checkpoint.
func (u *underway) resume() error {
	before, err := u.files.Resume()
	for i := range before {
		u.past.add(&before[i])
		u.clock.now = float64(before[i].Clock)
		u.clusters = before[i].Clusters != nil
		u.opts.Keep.thin(&before[i], u.opts)
	}
	if u.h.Rounds = before; len(before) > 0 {
		u.starts()
	}
	return err
}

// starts tells the watcher that the run begins, if it wants to know.
func (u *underway) starts() {
	if w, ok := u.opts.Watch.(StartWatcher); ok {
		w.Start(u.h, u.opts.Rounds)
	}
}

// round adds a round to the history.
func (u *underway) round(ctx context.Context) error {
	t := len(u.h.Rounds) + 1
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("stopped after round %d of %d: %w", t-1, u.opts.Rounds, err)
	}
	r := u.at(ctx, t)
	if err := u.play(r); err != nil {
		return err
	}
	if err := r.record.Check(u.fed.Size()); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	u.clusters = r.record.Clusters != nil
	u.past.add(r.record)
	kept := *r.record
	u.opts.Keep.thin(&kept, u.opts)
	u.h.Rounds = append(u.h.Rounds, kept)
	if err := u.files.Add(r.record); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	if u.opts.Watch != nil {
		u.opts.Watch.Round(u.h, u.opts.Rounds)
	}
	return nil
}

// stopped turns the error that an interrupt causes into the history's mark, if there is a history.
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

// Interruptible returns a context that an interrupt ends, the stop button of a notebook or Ctrl-C, with ErrStopped as its
// cause. Until release is called, the first interrupt does not end the program, nor do those within half a second of it. In a
// notebook, Run and Rounds do this themselves; a cell of many runs needs it for the moments between them.
func Interruptible(ctx context.Context) (_ context.Context, release func()) {
	return interrupt.Notify(ctx)
}

func canceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrStopped)
}

// at returns round t.
func (u *underway) at(ctx context.Context, t int) *Round {
	return &Round{T: t, Fed: u.fed, ctx: ctx, opts: u.opts, on: u.on, record: &Record{Round: t}, rows: map[int]int{}, past: u.past, clock: u.clock}
}

// play runs one round and, if it is due, its evaluation.
func (u *underway) play(r *Round) error {
	begin := time.Now()
	before, err := u.before()
	r.Fail(err)
	guard(r, u.strategy.Round)
	if before != nil && errors.Is(r.err, errNobody) {
		r.err = nil
		r.putBack(u.states, before)
	}
	r.record.Kept, err = u.states.Settle()
	r.Fail(err)
	r.settleClock()
	r.record.Seconds = time.Since(begin).Seconds()
	begin = time.Now()
	switch {
	case r.err != nil:
	case r.T%u.opts.EvalEvery == 0 || r.T == u.opts.Rounds:
		guard(r, func(r *Round) error { r.evaluate(u.strategy); return r.err })
		r.record.EvalTime = time.Since(begin).Seconds()
	case u.clusters:
		guard(r, func(r *Round) error { return r.cluster(u.strategy) })
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

// before returns copies of the States if the round may end without any client, and nil if not.
func (u *underway) before() (copies checkpoint.States, err error) {
	switch {
	case u.opts.Pace.Deadline > 0 && u.fed.Devices != nil, slices.ContainsFunc(u.fed.Devices, func(d sim.Device) bool { return d.Drop > 0 }):
		return u.states.Copy()
	case u.opts.NotFinite == Skip: // a State that cannot be copied ends such a run only if it comes to that
		copies, _ = u.states.Copy()
	}
	return copies, nil
}

// putBack sets States to their copies. Work that is under way goes on.
func (r *Round) putBack(states, copies checkpoint.States) {
	flights := make([]Flight, len(r.flight))
	for i, f := range r.flight {
		flights[i] = *f
	}
	states.Restore(copies)
	for i, f := range r.flight {
		*f = flights[i]
	}
}

// guard runs a step of a strategy, and turns a panic in it into the round's error.
func guard(r *Round, step func(*Round) error) {
	defer func() {
		if p := recover(); p != nil && r.err == nil {
			r.err = fmt.Errorf("panic: %w", fault.Panicked(p))
		}
	}()
	if err := step(r); r.err == nil {
		r.err = err
	}
}
