package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/preset"
	"fedkit.example/fedkit/study"
	"golang.org/x/sync/errgroup"
)

type queueCommand struct {
	Studies  []string `arg:"" optional:"" name:"study" sep:"none" help:"Studies, or parts of them as STUDY:PART, in the order in which they are computed. Default: all that no notebook computes itself, but first the parts that their authors put first."`
	Seeds    string   `placeholder:"2-5" help:"Only the runs with these seeds, such as 2-5 or 1,3."`
	Deadline float64  `placeholder:"SECONDS" help:"Stop after this many seconds. Runs that have begun go on from their checkpoints next time."`
	Parallel int      `placeholder:"N" help:"Number of runs side by side. Default: two, and eight on a GPU."`
	DryRun   bool     `help:"Say what is missing, and compute nothing."`
	form
}

// Help implements kong.HelpProvider.
func (*queueCommand) Help() string {
	return `The runs that are in no store and no extract are computed part by part, and their extracts are written. Hours are those of similar runs
where these were computed, one at a time. Any number of these commands may share a folder: each takes what is free. Copy notebooks/runs of
another machine over yours, and study extract puts the runs into the extracts.`
}

// part is what is missing of a part of a study.
type part struct {
	Study   string       `json:"study"`
	Part    string       `json:"part,omitempty"`
	Runs    int          `json:"runs"`
	Missing int          `json:"missing"`
	Hours   fedkit.Float `json:"hours"` // of the missing ones; NaN if the study has no run to judge by

	of      *selection
	whole   study.Plan
	missing study.Plan
}

// Run computes what is missing.
func (q *queueCommand) Run(c *console, all named) error {
	if q.Parallel < 0 || q.Deadline < 0 || math.IsNaN(q.Deadline) {
		return fedkit.Invalid("--parallel, --deadline", fmt.Sprint(q.Parallel, ", ", q.Deadline), "numbers ≥ 0")
	}
	begin := time.Now()
	parts, err := q.parts(c, all)
	if err != nil {
		return err
	}
	if err = q.print(c, parts); err != nil || q.DryRun || len(parts) == 0 {
		return err
	}
	if _, err = xla.Backend(); err != nil {
		return fmt.Errorf("fedkit: %w", err)
	}
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer release()
	ctx, free := interrupt.Context(ctx)
	defer free()
	timed := ctx
	if q.Deadline > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithDeadline(ctx, begin.Add(time.Duration(q.Deadline*float64(time.Second))))
		defer cancel()
	}
	err = q.compute(timed, c, parts)
	written := map[*selection]bool{}
	for _, p := range parts {
		if !written[p.of] {
			written[p.of] = true
			err = errors.Join(err, p.of.write(p.whole))
		}
	}
	if ctx.Err() != nil {
		err = errors.Join(err, errStopped)
	}
	return err
}

// parts returns the parts of the studies of which runs are missing, in the order in which they are computed.
func (q *queueCommand) parts(c *console, all named) (parts []*part, err error) {
	of := map[string][]*part{}
	for _, name := range q.order(all) {
		name, only, narrow := strings.Cut(name, ":")
		if of[name] == nil {
			if of[name], err = q.partsOf(c, all, name); err != nil {
				return nil, err
			}
		}
		if narrow {
			if _, err = of[name][0].whole.Part(only); err != nil {
				return nil, err
			}
		}
		for _, p := range of[name] {
			if (!narrow || strings.EqualFold(p.Part, only)) && !slices.Contains(parts, p) {
				parts = append(parts, p)
			}
		}
	}
	return slices.DeleteFunc(parts, func(p *part) bool { return p.missing == nil }), nil
}

// order returns the names of studies and of their parts that the queue takes one after another.
func (q *queueCommand) order(all named) (names []string) {
	if q.Studies != nil {
		return q.Studies
	}
	studies := slices.DeleteFunc(slices.Clone(all[:len(all)-len(preset.All())]), func(s study.Named) bool { return s.Live })
	for _, s := range studies {
		for _, first := range s.First {
			names = append(names, s.Name+":"+first)
		}
	}
	return append(names, studies.names()...)
}

// partsOf returns the parts of a study, in its order.
func (q *queueCommand) partsOf(c *console, all named, name string) (parts []*part, err error) {
	of := &selection{Study: name, Seeds: q.Seeds}
	whole, some, err := of.plan(c, all)
	if err != nil {
		return nil, err
	}
	found := some.Status(of.Store, of.Extract)
	for _, t := range some {
		i := slices.IndexFunc(parts, func(p *part) bool { return p.Part == t.Value("part") })
		if i < 0 {
			i, parts = len(parts), append(parts, &part{Study: name, Part: t.Value("part"), of: of, whole: whole})
		}
		p := parts[i]
		if p.Runs++; slices.Contains(found.Missing, t) {
			p.missing, p.Missing, p.Hours = append(p.missing, t), p.Missing+1, p.Hours+fedkit.Float(found.Seconds(t)/3600)
		}
	}
	return parts, nil
}

// print lists what is missing.
func (q *queueCommand) print(c *console, parts []*part) (err error) {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	missing, hours := 0, 0.0
	for i, p := range parts {
		if q.JSON {
			err = errors.Join(err, c.line(p))
			continue
		}
		if i == 0 {
			fmt.Fprintln(w, "study\tpart\truns\tmissing\thours")
		}
		known := "?"
		if !math.IsNaN(float64(p.Hours)) {
			known, hours = strconv.FormatFloat(float64(p.Hours), 'f', 2, 64), hours+float64(p.Hours)
		}
		missing += p.Missing
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", p.Study, p.Part, p.Runs, p.Missing, known)
	}
	if !q.JSON {
		fmt.Fprintf(w, "all\t\t\t%d\t%.2f\n", missing, hours)
	}
	return errors.Join(err, w.Flush())
}

// compute runs what is missing, federation by federation, until ctx is done. It names what fails, and goes on.
func (q *queueCommand) compute(ctx context.Context, c *console, parts []*part) error {
	n := q.Parallel
	if n == 0 {
		if n = 2; !xla.OnCPU() {
			n = 8
		}
	}
	var side errgroup.Group
	side.SetLimit(n)
	w := &finished{c: c, begin: time.Now()}
	for _, p := range parts {
		for _, some := range p.missing.Worlds() {
			side.Go(func() error {
				if ctx.Err() != nil {
					return nil
				}
				defer runtime.GC() // the federation's examples leave the device
				st, err := some.Study(p.of.Store)
				if err == nil {
					st.Parallel, st.Free, st.Log, st.Watch = 1, true, io.Discard, w
					_, err = st.Run(ctx)
				}
				if err != nil && ctx.Err() == nil {
					w.fail(fmt.Errorf("%s: %w", p.Study, err))
				}
				return nil
			})
		}
	}
	_ = side.Wait()
	fmt.Fprintf(c.err, "computed %d runs in %.0f s\n", w.runs, time.Since(w.begin).Seconds())
	if w.failed > 0 {
		return fmt.Errorf("%d runs or federations failed", w.failed)
	}
	return nil
}

// finished is a Watcher that prints a line for each run that ends.
type finished struct {
	c            *console
	begin        time.Time
	mu           sync.Mutex
	runs, failed int
}

// Round is silent: a line for each round of eight runs would tell nothing.
func (f *finished) Round(*fedkit.History, int) {}

func (f *finished) Done(h *fedkit.History, err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fedkit.ErrStopped), h.Stopped:
	case err != nil:
		f.fail(fmt.Errorf("%s, seed %d: %w", h.Name, h.Seed, err))
	default:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runs++
		fmt.Fprintf(f.c.err, "%.0f s, %d: %s, seed %d, %d rounds\n", time.Since(f.begin).Seconds(), f.runs, h.Name, h.Seed, len(h.Rounds))
	}
}

func (f *finished) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed++
	fmt.Fprintln(f.c.err, "failed:", err)
}

type extractCommand struct {
	Studies []string `arg:"" optional:"" name:"study" sep:"none" help:"Studies. Default: all."`
}

// Run writes the extracts of studies of which there are runs.
func (e *extractCommand) Run(c *console, all named) (err error) {
	names := e.Studies
	if names == nil {
		names = all[:len(all)-len(preset.All())].names()
	}
	for _, name := range names {
		of := &selection{Study: name}
		whole, _, wrong := of.plan(c, all)
		if wrong == nil {
			wrong = of.write(whole)
		}
		err = errors.Join(err, wrong)
	}
	return err
}
