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

// Options are the options of a run. The zero value is a plain run, except that Rounds is required. Options that are not tagged
// `results:"same"` change results: they belong to a run's identity in its History, its checkpoint and a study's keys.
type Options struct {
	Rounds    int       `range:"[1,inf)"` // number of rounds; required
	Seed      uint64    // seed of all randomness: initial models, selection, batches
	Name      string    `results:"same"`                                       // the history's label; default: the strategy's name
	EvalEvery int       `range:"[1,inf)" default:"every round"`                // evaluate every n-th round, and always the last
	Workers   int       `range:"[1,inf)" default:"the default" results:"same"` // programs that run concurrently; default: half the processors, at least one. Does not change results
	NotFinite NotFinite // what to do when a client returns NaN or Inf; default Stop
	Watch     Watcher   `results:"same"` // follows the progress: plot.Live(); default none
	Metrics   []Metric  // recorded at every evaluation, beside loss and accuracy: metric.MacroF1{}, …; default none

	// Pace is how the server handles stragglers, on a federation with devices. Default: it waits for all clients.
	Pace Pace

	// ChooseOnTest also scores every client under the cluster model with the lowest loss on the client's own *test* examples, as
	// Record.ChosenOnTest. The published code of IFCA evaluates this way. The figures are optimistic, since the choice uses test
	// labels, and serve only to compare with published ones. No effect if there is not a model for each cluster.
	ChooseOnTest bool

	// On runs the programs on a fleet of machines, from package fleet. Default: in this process.
	On Machines `results:"same"`

	// History is a file to which the history is appended after every round, so that it survives if the run is killed: see Load, and
	// plot.Follow for watching it grow. An existing file is overwritten after the first round. Default: none.
	History string `results:"same"`
	// Keep is which per-client data the history keeps, and how often. Default: everything, of every round.
	Keep Keep

	// Checkpoint is a file from which the run resumes if it exists, for more rounds if Rounds has grown; other options must be
	// unchanged. A resumed run ends with the same bytes as an uninterrupted one, and a finished one computes nothing. So a notebook
	// whose page was closed or reloaded is simply run again, and plot.Follow shows the run meanwhile, from another notebook. The file
	// is written during the run, and when it ends or is interrupted; folders are made as needed. Beside it are the rounds so far
	// (".rounds") and the previous checkpoint (".before"), which is used if the file is damaged. To start over, remove the file: the
	// others are then ignored. The writer's duty cycle is at most 1/60: if rounds are faster, due checkpoints give way to newer ones,
	// and the last is always written. The strategy must keep everything in a State that can be saved (see Strategy). Default: none.
	Checkpoint      string        `results:"same"`
	CheckpointEvery int           `range:"[1,inf)" default:"every evaluated round" results:"same"` // checkpoint every n-th round
	CheckpointAfter time.Duration `range:"[1,inf)" default:"no limit" results:"same"`              // also checkpoint when a round ends this long after the last one; without CheckpointEvery, it is the only rule
}

// Config returns the options that change results, as History.Settings has them.
func (o Options) Config() *config.Config { return o.settings() }

// NotFinite is the policy for updates that hold NaN or Inf.
type NotFinite int

// The policies for updates that are not finite.
const (
	Stop NotFinite = iota // end with an error that names round and client
	Skip                  // leave the client out of the round, and mark it in the record
)

// Check implements Checker.
func (n NotFinite) Check(*Federation, int) error {
	if n != Stop && n != Skip {
		return Invalid("", int(n), "fedkit.Stop or fedkit.Skip")
	}
	return nil
}

// Run runs the strategy and returns its history. An error names the round, and comes with the history so far. Canceling ctx is
// an error.
//
// Canceling ctx with the cause ErrStopped is not: the history of the finished rounds is returned with Stopped set, and the
// checkpoint can be resumed. The error is ErrStopped if no round was finished. In a notebook, the stop button does this to all
// current runs, and to those that the cell starts afterwards; pressed again after half a second or more, it ends the cell. Other
// programs handle interrupts themselves, unless they use Interruptible.
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
// An error is yielded once, at the end, with the history so far (nil if nothing could start). It ends when Run would. If no round
// is run, since a checkpoint has all of them or the program is interrupted, the checkpoint's history is yielded once.
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
		u.notifyStart()
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

// defaultWorkers is the default of Options.Workers.
func defaultWorkers() int { return max(1, runtime.NumCPU()/2) }

// defaultDevice runs programs outside of runs.
func defaultDevice() engine.Device { return engine.Here(defaultWorkers()) }

// Machines run the programs of runs remotely. Package fleet makes them.
type Machines interface {
	// Open returns the device for a run, and a function to call when the run is over.
	Open(ctx context.Context) (on engine.Device, leave func(), err error)
	// Device returns History.Device and History.Hardware.
	Device() (kind, hardware string, err error)
	// AtOnce returns the number of programs that they run concurrently.
	AtOnce() int
	// String returns a line of progress: the machines, what they do, and how many bytes were moved.
	String() string
}

// underway is the state of a run between rounds.
type underway struct {
	fed      *Federation
	strategy Strategy
	opts     Options
	on       engine.Device
	h        *History
	past     *past
	clock    *clock
	states   checkpoint.States // of the strategy and those it wraps
	claims   []any             // resources this run holds exclusively: the strategies, their States, the checkpoint
	clusters bool              // the strategy last served clusters
	files    *checkpoint.Files
}

// begin checks everything that can be checked before anything runs, and claims the run's exclusive resources.
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
	u = &underway{fed: fed, strategy: s, opts: o, on: engine.Here(cmp.Or(o.Workers, defaultWorkers())), h: h, past: newPast(fed, all, o.Keep), states: statesOf(all)}
	if u.clock, err = newClock(fed); err != nil {
		return nil, err
	}
	u.claims = claimsOf(all, u.states, o.Checkpoint)
	return u, u.claim()
}

// running holds the claims of all current runs.
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

// claim claims the run's exclusive resources, and refuses those that another run holds.
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

// files returns the configuration of the run's files.
func (o Options) files() checkpoint.Config {
	c := checkpoint.Config{History: o.History, Checkpoint: o.Checkpoint, Every: o.CheckpointEvery, After: o.CheckpointAfter}
	if c.Every == 0 && c.After == 0 {
		c.Every = o.EvalEvery
	}
	c.Thin = func(r *Record) { o.Keep.scores(r, o) }
	return c
}

// release closes the files, and releases the claims.
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
	o.Watch, o.On = nil, nil // not parts to check
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
	if err := fed.fitsRun(all, n); err != nil && !away { // the fleet's memory is not known here
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

// start starts the strategy, or resumes it from its checkpoint.
func (u *underway) start(ctx context.Context) error {
	r := u.newRound(ctx, 0)
	guard(r, u.strategy, func(s Strategy) error { return s.Start(r) })
	_, err := u.states.Settle()
	if r.Fail(err); r.err != nil {
		return fmt.Errorf("start: %w", r.err)
	}
	if u.opts.EvalEvery > 1 { // a strategy that cannot serve yet has no clusters
		first := u.newRound(ctx, 0)
		guard(first, u.strategy, first.cluster)
		u.clusters = first.err == nil && first.record.Clusters != nil
	}
	if err := u.checkSnapshot(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return u.resume()
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
func (u *underway) resume() error {
	before, err := u.files.Resume()
	for i := range before {
		u.past.add(&before[i])
		u.clock.now = float64(before[i].Clock)
		u.clusters = before[i].Clusters != nil
		u.opts.Keep.thin(&before[i], u.opts)
	}
	if u.h.Rounds = before; len(before) > 0 {
		u.notifyStart()
	}
	return err
}

// notifyStart notifies a StartWatcher that the run begins.
func (u *underway) notifyStart() {
	if w, ok := u.opts.Watch.(StartWatcher); ok {
		w.Start(u.h, u.opts.Rounds)
	}
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

// Interruptible returns a context that an interrupt (a notebook's stop button or Ctrl-C) cancels, with ErrStopped as its cause.
// Until release is called, the first interrupt does not end the program, nor do those within half a second of it. In a
// notebook, Run and Rounds do this themselves; a cell with several runs needs it for the time between them.
func Interruptible(ctx context.Context) (_ context.Context, release func()) {
	return interrupt.Notify(ctx)
}

func canceled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrStopped)
}

// newRound returns the Round for round t.
func (u *underway) newRound(ctx context.Context, t int) *Round {
	return &Round{T: t, Fed: u.fed, ctx: ctx, opts: u.opts, on: u.on, record: &Record{Round: t}, rows: map[int]int{}, past: u.past, clock: u.clock}
}

// play runs one round and, if it is due, its evaluation.
func (u *underway) play(r *Round) error {
	begin := time.Now()
	before, err := u.snapshot()
	r.Fail(err)
	guard(r, u.strategy, func(s Strategy) error { return s.Round(r) })
	if before != nil && errors.Is(r.err, errNoClients) {
		r.err = nil
		r.restoreStates(u.states, before)
	}
	r.record.Kept, err = u.states.Settle()
	r.Fail(err)
	r.settleClock()
	r.record.Seconds = time.Since(begin).Seconds()
	begin = time.Now()
	switch {
	case r.err != nil:
	case r.T%u.opts.EvalEvery == 0 || r.T == u.opts.Rounds:
		guard(r, u.strategy, func(s Strategy) error { r.evaluate(s); return r.err })
		r.record.EvalTime = time.Since(begin).Seconds()
	case u.clusters:
		guard(r, u.strategy, r.cluster)
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
	flights := make([]Flight, len(r.flight))
	for i, f := range r.flight {
		flights[i] = *f
	}
	states.Restore(copies)
	for i, f := range r.flight {
		*f = flights[i]
	}
}

// guard runs a step of a strategy with its defaults filled in, and turns a panic in it into the round's error.
func guard(r *Round, s Strategy, step func(Strategy) error) {
	s, restore := withDefaults(s)
	defer restore()
	defer func() {
		if p := recover(); p != nil && r.err == nil {
			r.err = fmt.Errorf("panic: %w", fault.Panicked(p))
		}
	}()
	if err := step(s); r.err == nil {
		r.err = err
	}
}
