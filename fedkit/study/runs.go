package study

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
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
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, []error{fmt.Errorf("study: %w", err)}
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !form.MatchString(e.Name()) })
	all, errs := each(len(entries), func(i int) (*Run, error) { return read(dir, entries[i].Name()) })
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

// each returns what f returns for 0 … n−1. It works on all processors.
func each[T any](n int, f func(i int) (T, error)) (all []T, errs []error) {
	all, errs = make([]T, n), make([]error, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { all[i], errs[i] = f(i); return nil })
	}
	_ = g.Wait()
	return all, errs
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
	hs, errs := each(len(rs), func(i int) (*fedkit.History, error) { return load(rs[i]) })
	for _, err := range errs {
		if err != nil {
			fmt.Fprintln(os.Stderr, text.Lines(err.Error()))
		}
	}
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

// Best returns the runs with the best value of a label or option, such as a rate: that with the best mean of a quantity over its
// runs (the zero Quantity is accuracy), the first of ties. The quantity is that on validation rows if all runs have such rows (see
// partition.Validation), and on says so. Otherwise it is that on test rows, and what the chosen runs then say of test rows is
// optimistic.
//
//	best, on, err := runs.Where("name", "FedAvg").Best("η", compare.LastRounds(10, compare.Accuracy))
//
// A value is not chosen if one of its runs failed or has no finite quantity. Errors: no run has the label or option, no value can be
// chosen, values have different numbers of runs, a history that cannot be loaded.
func (rs Runs) Best(key string, by compare.Quantity) (best Runs, on datasets.Part, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("study: best %s: %w", key, err)
		}
	}()
	values := rs.Values(key)
	if len(values) == 0 {
		return nil, 0, fedkit.Invalid("key", fmt.Sprintf("%q", key), "a label or option of the runs")
	}
	some := slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return r != nil && r.Error != "" })
	histories := make([]*fedkit.History, len(some))
	on = datasets.ValidationPart
	for i, r := range some {
		if histories[i], err = r.Light(); err != nil {
			return nil, 0, err
		}
		if !histories[i].Validated() {
			on = datasets.TestPart
		}
	}
	if on == datasets.ValidationPart {
		by = by.OnValidation()
	}
	figures := map[*Run]float64{}
	for i, v := range by.Of(histories...) { // on one basis
		figures[some[i]] = v
	}
	most, n := math.Inf(-1), len(rs.Where(key, values[0]))
	for _, value := range values {
		runs, mean := rs.Where(key, value), 0.0
		if len(runs) != n {
			return nil, 0, fedkit.Invalid("runs", fmt.Sprintf("%d with %s, and %d with %s", n, values[0], len(runs), value), "the same number for each value, such as one per seed")
		}
		for _, r := range runs {
			v, finished := figures[r]
			if !finished {
				v = math.NaN()
			}
			mean += v / float64(n)
		}
		if by.LowerIsBetter {
			mean = -mean
		}
		if mean > most && !math.IsInf(mean, 1) { // NaN is not
			best, most = runs, mean
		}
	}
	if best == nil {
		return nil, 0, fmt.Errorf("no value can be chosen: each has a run that failed, or whose %s is not finite", by.Axis())
	}
	return best, on, nil
}
