package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/study"
)

// Found is what is there of a grid's runs.
type Found struct {
	Runs    study.Runs // in the grid's order, those that failed too
	Stored  int        // how many of Runs are from the folder; the others are from the extract
	Missing []*Cell    // that are in neither

	dir, extract string
	code         map[string]int // number of runs by the code that computed them, if that is not this code
	changed      int            // number of runs that are called like one of the grid, and were computed under other options
	damaged      []error
}

// Find returns the runs of the grid that are there, and computes nothing: those stored in a folder, and for the others those
// of an extract (see study.Runs.Extract), if these are there. No data are loaded. A run is found by its name, labels and seed,
// if strategy, partition, devices and the number of rounds are those of the grid.
//
// Errors: no run is there. What is damaged is left out, and named by String.
func (g Grid) Find(dir, extract string) (*Found, error) {
	f := &Found{dir: dir, extract: extract, code: map[string]int{}}
	stored, damaged := study.List(dir)
	f.damaged = damaged
	inStore, inExtract := byCall(stored), sync.OnceValue(func() map[string]study.Runs { // if it is needed
		kept, err := study.Open(extract)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			f.damaged = append(f.damaged, err)
		}
		return byCall(kept)
	})
	for _, c := range g {
		r := c.among(inStore)
		if r != nil {
			f.Stored++
		} else if r = c.among(inExtract()); r == nil {
			f.Missing = append(f.Missing, c)
			if inStore[c.called()] != nil || inExtract()[c.called()] != nil {
				f.changed++
			}
			continue
		}
		f.Runs = append(f.Runs, r)
	}
	if len(f.Runs) == 0 {
		return nil, errors.Join(append([]error{fmt.Errorf("experiment: %w: none of %d runs is in %s or %s", os.ErrNotExist, len(g), dir, extract)}, f.damaged...)...)
	}
	now := source.Of()
	for _, r := range f.Runs {
		if was, _, _ := strings.Cut(r.About.Code, ";"); was != now {
			f.code[was]++
		}
	}
	return f, nil
}

// byCall returns runs by what they are called. Runs of a study and of an older form of it may be called the same.
func byCall(rs study.Runs) map[string]study.Runs {
	all := map[string]study.Runs{}
	for _, r := range rs {
		words := fmt.Sprintf("%s, seed %d", r, r.About.Seed)
		all[words] = append(all[words], r)
	}
	return all
}

// called is what the run of the cell is called, with its labels and seed.
func (c *Cell) called() string {
	return fmt.Sprintf("%s, seed %d", &Cell{name: c.runName(), Labels: c.Labels}, c.Options.Seed)
}

// among returns the cell's run, nil if it is not there.
func (c *Cell) among(runs map[string]study.Runs) *study.Run {
	for _, r := range runs[c.called()] {
		rounds, _ := r.About.Settings.At("Rounds")
		if same(r.About.Config, c.Strategy) && same(r.About.Manifest.Config, c.Partition) && same(r.About.Devices, c.Devices) && rounds == fmt.Sprint(c.Options.Rounds) {
			return r
		}
	}
	return nil
}

// same says whether a value has this configuration.
func same(was *config.Config, is any) bool {
	if was == nil || is == nil {
		return was == nil && is == nil
	}
	return was.String() == config.Of(is).String()
}

// String says where the runs are from, which are missing or failed, and what other code computed, in a line each.
func (f *Found) String() string {
	var lines []string
	say := func(n int, what, more string) {
		if n > 0 {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s: %d: %s", what, n, more), ": "))
		}
	}
	say(f.Stored, "runs from the folder "+f.dir, "")
	if n := len(f.Runs) - f.Stored; n > 0 {
		latest := slices.MaxFunc(f.Runs, func(a, b *study.Run) int { return a.Finished.Compare(b.Finished) })
		say(n, fmt.Sprintf("runs from the extract %s, of %s", f.extract, latest.Finished.Format(time.DateOnly)), "")
	}
	say(len(f.Missing), "missing", some(f.Missing, (*Cell).called))
	say(f.changed, "of these, there with other options", "")
	failed := f.Runs.Failed()
	say(len(failed), "failed", some(failed, func(r *study.Run) string { return r.Err().Error() }))
	for _, code := range slices.SortedFunc(maps.Keys(f.code), func(a, b string) int { return cmp.Or(f.code[b]-f.code[a], cmp.Compare(a, b)) }) {
		say(f.code[code], "computed by other code", fmt.Sprintf("%s; this is %s", cmp.Or(code, "of an unknown version"), source.Of()))
	}
	for _, err := range f.damaged {
		lines = append(lines, "damaged: "+err.Error())
	}
	return strings.Join(lines, "\n")
}

// some are the first three words of a list.
func some[T any](list []T, word func(T) string) string {
	var words []string
	for _, v := range list[:min(3, len(list))] {
		words = append(words, word(v))
	}
	if len(list) > 3 {
		words = append(words, fmt.Sprintf("and %d more", len(list)-3))
	}
	return strings.Join(words, "; ")
}
