package study

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/text"
	"golang.org/x/sync/errgroup"
)

// Runs are stored runs.
type Runs []*Run

// List returns all runs that are stored in a folder, by name; none if there is no such folder. An entry that was altered or cannot be
// read, or that a newer fedkit wrote, is left out, and named by an error; those of an older fedkit are counted in one.
func List(dir string) (runs Runs, damaged []error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			damaged = append(damaged, fmt.Errorf("study: %w", err))
		}
		return nil, damaged
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !form.MatchString(e.Name()) })
	all, errs := make([]*Run, len(entries)), make([]error, len(entries))
	each(len(entries), func(i int) { all[i], errs[i] = read(dir, entries[i].Name()) })
	older := 0
	for i, r := range all {
		switch {
		case r != nil:
			runs = append(runs, r)
		case errors.Is(errs[i], errOlder):
			older++
		case !errors.Is(errs[i], os.ErrNotExist): // without an entry yet: it is being computed, or was
			damaged = append(damaged, errs[i])
		}
	}
	if older > 0 {
		damaged = append(damaged, fmt.Errorf("study: %s: %d runs are left out: %w", dir, older, errOlder))
	}
	return runs, damaged
}

// each calls f for 0 … n−1, on all processors.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { f(i); return nil })
	}
	_ = g.Wait()
}

// Where returns the runs whose label or option has the value: see Run.Is. Further pairs narrow the choice.
func (rs Runs) Where(key string, value any, more ...any) Runs {
	some := slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return !r.Is(key, value) })
	if len(more) >= 2 {
		return some.Where(fmt.Sprint(more[0]), more[1], more[2:]...)
	}
	return some
}

// Any returns the runs whose label or option has one of the values, in the order of these.
func (rs Runs) Any(key string, values ...any) (some Runs) {
	for _, v := range values {
		some = append(some, rs.Where(key, v)...)
	}
	return some
}

// Values returns the different values of a label or option, in order of appearance: see Run.Value.
func (rs Runs) Values(key string) (values []string) {
	for _, r := range rs {
		if v, ok := r.Value(key); ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// Failed returns the runs that failed.
func (rs Runs) Failed() Runs {
	return slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return r == nil || r.Error == "" })
}

// Histories loads the histories of the runs that did not fail. Their names include the labels that distinguish these runs:
// "FedAvg, α 0.1". One that cannot be loaded is nil, and the reason goes to standard error.
func (rs Runs) Histories() []*fedkit.History { return rs.load((*Run).History) }

// Light is Histories without what is recorded per client, which is faster, and enough for tables and curves.
func (rs Runs) Light() []*fedkit.History { return rs.load((*Run).Light) }

func (rs Runs) load(load func(*Run) (*fedkit.History, error)) []*fedkit.History {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return r != nil && r.Error != "" })
	hs := make([]*fedkit.History, len(rs))
	each(len(rs), func(i int) {
		h, err := load(rs[i])
		if err != nil {
			fmt.Fprintln(os.Stderr, text.Lines(err.Error()))
			return
		}
		hs[i] = h
	})
	history.Distinguish(hs)
	return hs
}

// Size returns the bytes that the runs take on disk.
func (rs Runs) Size() (bytes int64) {
	for _, r := range rs {
		bytes += r.Size()
	}
	return bytes
}

// Remove deletes the runs. One that a process is computing is left, and named by the error.
func (rs Runs) Remove() error {
	var errs []error
	for _, r := range rs {
		errs = append(errs, r.remove())
	}
	return errors.Join(errs...)
}
