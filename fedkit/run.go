package fedkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/xla"
)

// Options say how long and how a strategy runs. The zero value, but for Rounds, is a usual run.
type Options struct {
	Rounds    int       `range:"[1,inf)"` // how many; required
	Seed      uint64    // for everything that is random: start, selection, batches
	Name      string    // the history's label; default: the strategy's name
	EvalEvery int       `range:"[1,inf)" default:"every round"` // rounds from one evaluation to the next; the last round is always evaluated
	Workers   int       `range:"[1,inf)" default:"the default"` // programs in flight at once; default: half the processors, at least one. Results do not depend on it
	NotFinite NotFinite // what to do when a client returns NaN or Inf; default Stop
	Watch     Watcher   // told of the progress: plot.Live(); default none
	Metrics   []Metric  // recorded at every evaluation, beside loss and accuracy: metric.MacroF1{}, …; default none

	// Checkpoint is a file that is written after every evaluated round. If it is there already, the run continues from
	// it, and ends with the same bytes as a run that was never interrupted. Default: none.
	Checkpoint string
}

// NotFinite is what happens when a client's update holds NaN or Inf.
type NotFinite int

// Stop ends the run with an error that names round and client; Skip leaves the client out of the round, and its number
// in the record.
const (
	Stop NotFinite = iota
	Skip
)

// Check implements Checker.
func (n NotFinite) Check(*Federation, int) error {
	if n != Stop && n != Skip {
		return Invalid("", int(n), "fedkit.Stop or fedkit.Skip")
	}
	return nil
}

// Run runs the strategy and returns what happened. Cancelling ctx stops it between two rounds: the history so far comes
// back together with the context's error. So does any other error, with the round in which it happened.
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
// that round's. An error comes once, at the end, with the history so far (nil if nothing could start). If a checkpoint has
// all rounds already, its history comes once.
//
//	for h, err := range fedkit.Rounds(ctx, fed, s, fedkit.Options{Rounds: 100}) {
//		if err != nil { … }
//		if h.Accuracy() > 0.97 { break }
//	}
func Rounds(ctx context.Context, fed *Federation, s Strategy, o Options) iter.Seq2[*History, error] {
	return func(yield func(*History, error) bool) {
		h, err := begin(ctx, fed, s, &o)
		if err != nil {
			yield(nil, err)
			return
		}
		if state := stateOf(s); state != nil {
			if _, busy := running.LoadOrStore(state, true); busy {
				yield(nil, fmt.Errorf("fedkit: %s: %w", h.Name, Invalid("strategy", "a value that is in another run", "one per run: its State cannot be shared")))
				return
			}
			defer running.Delete(state)
		}
		past := newPast(fed)
		r := &Round{Fed: fed, ctx: ctx, opts: o, record: &Record{}, rows: map[int]int{}, past: past}
		guard(r, s.Start)
		err = r.err
		done := false // before this run
		if err == nil && o.Checkpoint != "" {
			var before *History
			if before, err = loadCheckpoint(o.Checkpoint, h, s); before != nil {
				h = before
				done = len(h.Rounds) >= o.Rounds
				for i := range h.Rounds {
					past.add(&h.Rounds[i])
				}
			}
		}
		for t := len(h.Rounds) + 1; t <= o.Rounds && err == nil; t++ {
			if err = ctx.Err(); err != nil {
				err = fmt.Errorf("stopped after round %d of %d: %w", t-1, o.Rounds, err)
				break
			}
			var rec *Record
			if rec, err = play(&Round{T: t, Fed: fed, ctx: ctx, opts: o, past: past}, s); err != nil {
				break
			}
			h.Rounds = append(h.Rounds, *rec)
			past.add(rec)
			if o.Checkpoint != "" && rec.Scores != nil {
				if err = saveCheckpoint(o.Checkpoint, h, s); err != nil {
					err = fmt.Errorf("checkpoint: %w", err)
					break
				}
			}
			if o.Watch != nil {
				o.Watch.Round(h, o.Rounds)
			}
			if !yield(h, nil) {
				break
			}
		}
		if err != nil {
			err = fmt.Errorf("fedkit: %s: %w", h.Name, err)
		}
		if o.Watch != nil {
			o.Watch.Done(h, err)
		}
		if err != nil || done {
			yield(h, err)
		}
	}
}

// usualWorkers is the default of Options.Workers.
func usualWorkers() int { return max(1, runtime.NumCPU()/2) }

// running has the States, by address, of the runs that are under way.
var running sync.Map

// begin checks everything that can be checked before anything runs.
func begin(ctx context.Context, fed *Federation, s Strategy, o *Options) (h *History, err error) {
	defer func() {
		if p := recover(); p != nil { // in a method of a part
			h, err = nil, fmt.Errorf("fedkit: panic: %v", p)
		}
	}()
	if ctx == nil {
		return nil, fmt.Errorf("fedkit: %w", Invalid("ctx", "nil", "a context, such as context.Background()"))
	}
	if fed == nil || fed.lazy == nil {
		return nil, fmt.Errorf("fedkit: %w", Invalid("federation", fed, "made by fedkit.New"))
	}
	if s == nil || (reflect.ValueOf(s).Kind() == reflect.Pointer && reflect.ValueOf(s).IsNil()) {
		return nil, fmt.Errorf("fedkit: %w", Invalid("strategy", "nil", "a strategy, such as &strategy.FedAvg{}"))
	}
	h = &History{Config: config.Of(s), Data: fed.Data.Name, Partition: fed.Rule, Model: fed.Task.Name, Clients: fed.Size(), Params: fed.Task.Dim(), Seed: o.Seed}
	h.Strategy = h.Config.Name()
	h.Name = cmp.Or(o.Name, h.Strategy)
	if err := checkRun(fed, s, o, h.Config); err != nil {
		return nil, fmt.Errorf("fedkit: %s: %w", h.Strategy, err)
	}
	if o.EvalEvery == 0 {
		o.EvalEvery = 1
	}
	if o.Workers == 0 {
		o.Workers = usualWorkers()
	}
	b, err := xla.Backend()
	if err != nil {
		return nil, fmt.Errorf("fedkit: %w", err)
	}
	if _, err := fed.engine(); err != nil {
		return nil, fmt.Errorf("fedkit: %w", err)
	}
	m := fed.Manifest()
	h.Manifest, h.Device = &m, b.Name()
	return h, nil
}

// checkRun checks the options of a run and those of its strategy.
func checkRun(fed *Federation, s Strategy, o *Options, c *config.Config) error {
	watched := *o
	if isNil(reflect.ValueOf(o.Watch)) {
		return Invalid("Options.Watch", fmt.Sprintf("nil %T", o.Watch), "a value, or left out for none")
	}
	watched.Watch = nil // no option of the run
	if err := check("Options", watched, fed, 0); err != nil {
		return err
	}
	if err := checkMetrics(o.Metrics); err != nil {
		return err
	}
	n, err := cohort(s, fed.Size())
	if err != nil {
		return err
	}
	if err := check("", s, fed, n); err != nil {
		return err
	}
	if err := fed.fitsRun(s, n); err != nil {
		return err
	}
	if unnamed := c.Unnamed(); o.Checkpoint != "" && len(unnamed) > 0 {
		return Invalid(unnamed[0], "a function without a name", "one that is declared with func at the top level, since Options.Checkpoint keeps the configuration")
	}
	return nil
}

// play runs one round and, if it is due, its evaluation.
func play(r *Round, s Strategy) (*Record, error) {
	r.record, r.rows = &Record{Round: r.T}, map[int]int{}
	begin := time.Now()
	guard(r, s.Round)
	r.record.Seconds = time.Since(begin).Seconds()
	if r.err == nil && (r.T%r.opts.EvalEvery == 0 || r.T == r.opts.Rounds) {
		begin = time.Now()
		guard(r, func(r *Round) error { r.evaluate(s); return r.err })
		r.record.EvalTime = time.Since(begin).Seconds()
	}
	if r.err != nil {
		if errors.Is(r.err, context.Canceled) || errors.Is(r.err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("stopped in round %d of %d: %w", r.T, r.opts.Rounds, r.err)
		}
		return nil, fmt.Errorf("round %d: %w", r.T, r.err)
	}
	return r.record, nil
}

// guard runs a step of a strategy, and turns a panic in it into the round's error.
func guard(r *Round, step func(*Round) error) {
	defer func() {
		if p := recover(); p != nil && r.err == nil {
			r.err = fmt.Errorf("panic: %v", p)
		}
	}()
	if err := step(r); r.err == nil {
		r.err = err
	}
}
