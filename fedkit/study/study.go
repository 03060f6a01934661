package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// pause is the interval between a run's checkpoints, unless its options set one.
const pause = 10 * time.Second

// Study is a list of runs that are computed once and stored.
type Study struct {
	Dir       string         // the folder of the runs
	Parallel  int            // concurrent runs; default: as many as there are processors, or programs that workers run at a time, fewer if memory is short
	Recompute bool           // recomputes everything, also what is stored
	Models    bool           // keeps the final models
	Free      bool           // computes what no other process does, and does not wait for the rest
	Watch     fedkit.Watcher // receives the progress of every run: plot.Live(); default progress.Line()
	Log       io.Writer      // where Run says what is stored and what is to run; default: standard output in a notebook, else standard error

	plans  []*plan
	err    error // of the first Add that failed
	saying sync.Mutex
}

// New returns a study whose runs are stored in a folder, which is made when the first run is stored.
func New(dir string) *Study { return &Study{Dir: dir} }

// plan is a run that was added.
type plan struct {
	*Run
	fed      *fedkit.Federation
	strategy fedkit.Strategy
	opts     fedkit.Options
	given    bool  // it has a name or labels of its own
	first    *plan // of those that are the same run; nil if it is that
	longer   *plan // the next one that is the same for more rounds
	lock     *lock // while it is computed

	code string // version of the code that would run
	state
}

// state is what a study knows of a run that was added.
type state struct {
	was     time.Time // when what was there had ended
	stored  bool
	models  bool  // it is stored, but without its models
	other   bool  // it failed, and other code ran
	problem error // with what is stored
	blocked error // why nothing can be stored
}

// Add adds a run. Labels are pairs of a key and a value, as in log/slog: "α", 0.1. They and Options.Name are for people: for
// filters, tables and figures. The strategy is copied as it is now, so that one value may be added many times; a part that it
// holds by a pointer must not be changed before Run returns. Run reports mistakes before anything runs.
func (s *Study) Add(fed *fedkit.Federation, strategy fedkit.Strategy, o fedkit.Options, pairs ...any) {
	s.add(nil, fed, strategy, o, pairs)
}

// add is Add for the federation of a World, by which Plan.Find finds the run. It is not part of the key.
func (s *Study) add(from any, fed *fedkit.Federation, strategy fedkit.Strategy, o fedkit.Options, pairs []any) {
	p, err := s.plan(fed, strategy, o, pairs)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("study: run %d: %w", len(s.plans)+1, err)
	}
	if err == nil && from != nil {
		p.From = []*config.Config{config.Of(from)}
	}
	if i := slices.IndexFunc(s.plans, func(q *plan) bool { return q != nil && err == nil && q.Key == p.Key }); i >= 0 {
		p.first = s.plans[i]
	}
	s.plans = append(s.plans, p)
}

func (s *Study) plan(fed *fedkit.Federation, strategy fedkit.Strategy, o fedkit.Options, pairs []any) (*plan, error) {
	given, err := labels(pairs)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Checkpoint != "":
		return nil, fedkit.Invalid("Options.Checkpoint", o.Checkpoint, "left out: a study keeps a run's checkpoint with it")
	case o.History != "":
		return nil, fedkit.Invalid("Options.History", o.History, "left out: a study keeps a run's history with it")
	case o.Watch != nil:
		return nil, fedkit.Invalid("Options.Watch", fmt.Sprintf("%T", o.Watch), "left out: Study.Watch is told of every run")
	}
	if fed != nil {
		was := *fed // the fields may be set to other values before Run
		fed = &was
	}
	if strategy, err = fedkit.Clone(strategy); err != nil {
		return nil, err
	}
	o.Metrics = slices.Clone(o.Metrics)
	p := &plan{fed: fed, strategy: strategy, opts: o, given: o.Name != "" || len(given) > 0}
	// A strategy whose State cannot be saved runs without a checkpoint.
	p.opts.Checkpoint = checkpointFile // in the folder that Run is given
	about, err := fedkit.Describe(fed, strategy, p.opts)
	if err != nil {
		p.opts.Checkpoint = ""
		if about, err = fedkit.Describe(fed, strategy, p.opts); err != nil {
			return nil, err
		}
	}
	key, err := keyOf(about)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", about.Name, err)
	}
	p.code = about.Code
	p.Run = &Run{ID: idOf(about.Strategy, key), Key: key, Name: about.Name, Labels: given, About: about}
	if p.opts.Checkpoint != "" && p.opts.CheckpointEvery == 0 && p.opts.CheckpointAfter == 0 {
		p.opts.CheckpointAfter = pause
	}
	return p, nil
}

// Run computes the runs that are not stored, concurrently, and stores each as it finishes. It returns the runs in the order in
// which they were added, with those that failed: see Run.Err. It prints how many are stored, how many are to run, and why. Stored
// runs that were altered are named too, and recomputed.
//
// A run whose training fails, with NaN for example, is stored with its error, and the others go on. A run that fails for an
// external reason is stored too, but the next Run retries it, from its checkpoint if the code is the same.
//
// A run that is the same as an earlier one of the study, but for more rounds, goes on from where that ended. One that
// fedkit.Options.StopAt ends early is complete.
//
// The stop button of a notebook is no error, as in fedkit.Run: finished runs are stored and returned, and the others resume from
// their checkpoints next time.
//
// Other processes may run the same study at the same time: each computes what is free, waits for the rest, and tells Watch of all.
//
// Errors: no run; a run that cannot be run, or not be stored, by its field; two runs with the same name, labels and seed,
// and other options; a folder that cannot be written to, or lacks exclusive create or atomic rename; an entry that a newer fedkit wrote;
// after the others were computed, a run whose place in the folder is taken by something else, or that another process took over, since
// this one had been suspended; ctx canceled.
func (s *Study) Run(ctx context.Context) (Runs, error) { return s.run(ctx, s.compute) }

// run is Run with any way to get what is missing.
func (s *Study) run(ctx context.Context, compute func(context.Context, []*plan) error) (Runs, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	if err := s.readStored(); err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(s.distinct(), func(p *plan) bool { return p.stored })
	for _, p := range missing {
		if err := p.changed(); err != nil {
			return nil, err
		}
	}
	clearAfterKills(s.Dir)
	s.say(missing)
	var err error
	if len(missing) > 0 {
		err = compute(ctx, missing)
	}
	return s.results(), err
}

// check refuses what is wrong before anything runs.
func (s *Study) check(ctx context.Context) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("study: %w", fedkit.Invalid("ctx", "nil", "a context, such as context.Background()"))
	case s.Dir == "":
		return fmt.Errorf("study: %w", fedkit.Invalid("Study.Dir", `""`, "the folder of the runs"))
	case s.Parallel < 0:
		return fmt.Errorf("study: %w", fedkit.Invalid("Study.Parallel", s.Parallel, "a number ≥ 1, or 0 for the default: by machine"))
	case reflect.ValueOf(s.Watch).Kind() == reflect.Pointer && reflect.ValueOf(s.Watch).IsNil():
		return fmt.Errorf("study: %w", fedkit.Invalid("Study.Watch", fmt.Sprintf("nil %T", s.Watch), "a value, or left out for a line of text"))
	case s.err != nil:
		return s.err
	case len(s.plans) == 0:
		return errors.New("study: no run was added")
	}
	return s.conflicts()
}

// conflicts refuses different runs that have the same name, labels and seed.
func (s *Study) conflicts() error {
	first := map[string]*plan{}
	for i, p := range s.plans {
		name := p.called()
		if q := first[name]; q == nil {
			first[name] = p
		} else if q.Key != p.Key && (p.given || q.given) {
			return fmt.Errorf("study: run %d: %w: another run is called %q too: it differs in %s", i+1, fedkit.ErrInvalid, name, first3(differences(q.About, p.About), ", "))
		}
	}
	return nil
}

// changed refuses a run that no longer has its key, because something it shares was changed after Add.
func (p *plan) changed() error {
	is, err := fedkit.Describe(p.fed, p.strategy, p.opts)
	if err != nil {
		return fmt.Errorf("study: %s: after Add: %w", p.Run, err)
	}
	if fields := differences(p.About, is); fields != nil {
		return fmt.Errorf("study: %s: %w: a part was changed after Add, which does not copy what a pointer holds: %s", p.Run, fedkit.ErrInvalid, first3(fields, ", "))
	}
	return nil
}

// distinct returns one plan per run.
func (s *Study) distinct() []*plan {
	return slices.DeleteFunc(slices.Clone(s.plans), func(p *plan) bool { return p.first != nil })
}

// readStored loads what is stored, and mends it.
func (s *Study) readStored() error {
	var mended []string
	for _, p := range s.plans {
		if p.dir, p.state = s.Dir, (state{}); p.opts.Checkpoint != "" {
			p.opts.Checkpoint = p.Path(checkpointFile)
		}
		r, err := p.look()
		switch {
		case r == nil && errors.Is(err, os.ErrNotExist):
			continue
		case errors.Is(err, history.ErrNewer):
			return err
		case err != nil:
			p.problem = err
			continue
		}
		p.models, p.was = s.Models && !r.Models && r.Error == "", r.Finished
		p.other = r.Retry && r.About.Code != p.code
		if p.stored = s.enough(r); p.stored {
			if err := r.mend(p.From); err != nil {
				mended = append(mended, err.Error())
			}
			p.take(r)
		}
	}
	if mended != nil {
		s.sayf("%s\n", first3(mended, ", "))
	}
	return nil
}

// look reads what is stored of the run. It is not nil if only its files are damaged.
func (p *plan) look() (*Run, error) {
	r, err := read(p.dir, p.ID)
	if err != nil {
		return nil, err
	}
	if r.Key != p.Key {
		return r, fmt.Errorf("study: %s: it is the entry of another run, whose key begins alike", p.Path(entryFile))
	}
	return r, r.whole()
}

// enough reports whether what is stored of a run is all that the study wants.
func (s *Study) enough(r *Run) bool {
	return !s.Recompute && !r.Retry && (r.Models || !s.Models || r.Error != "")
}

// take records how a run ended.
func (p *plan) take(r *Run) {
	p.Rounds, p.Accuracy, p.R2, p.Seconds, p.Finished, p.Commit, p.Models, p.Error, p.Retry = r.Rounds, r.Accuracy, r.R2, r.Seconds, r.Finished, r.Commit, r.Models, r.Error, r.Retry
	p.files, p.About.Code, p.About.Early = r.files, r.About.Code, r.About.Early
}

// results are the runs that are stored now.
func (s *Study) results() (runs Runs) {
	for _, p := range s.plans {
		if p.first != nil && p.first.stored {
			p.stored = true
			p.take(p.first.Run)
		}
		if p.stored {
			runs = append(runs, p.Run)
		}
	}
	if len(runs) == len(s.plans) {
		_ = os.Remove(s.note())
	}
	return runs
}
