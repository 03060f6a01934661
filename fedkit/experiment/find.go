package experiment

import (
	"cmp"
	"encoding/json"
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

// Found is the part of a grid's runs that was found.
type Found struct {
	Runs    study.Runs // in the grid's order, under its names and labels; those that failed too
	Stored  int        // how many of Runs are from the folder; the others are from the extract
	Missing []*Trial   // that are in neither

	dir, extract string
	code, device map[string]int // number of runs by the code that computed them, if that is not this code, and by the kind of device
	changed      map[string]int // number of runs that are named like one of the grid, by what differs
	several      int            // number of runs that were found more than once
	damaged      []error
}

// Find returns the runs of the grid that exist, and computes nothing: those stored in a folder, and otherwise those of an extract
// (see study.Runs.Extract). A run is found by everything that the grid says of it: the strategy with all its options and parts,
// data, partition, model, hold-out clients, devices, attack, the options that change results, and the seed. Names and labels are
// for people: a run with other ones takes those of the grid.
//
// No data are loaded, so the content of their files is not compared; nor are the kind of device and the code, which String
// reports. Of several runs, such as from two machines, the one that finished last counts. A run can be found if a study of
// Grid.Study computed it, or found it stored.
//
// Errors: no run was found. Damaged ones are left out, and named by String.
func (g Grid) Find(dir, extract string) (*Found, error) {
	f := &Found{dir: dir, extract: extract, code: map[string]int{}, device: map[string]int{}, changed: map[string]int{}}
	stored, damaged := study.List(dir)
	f.damaged = damaged
	inStore, inExtract := newIndex(stored), sync.OnceValue(func() *index { // if it is needed
		kept, err := study.Open(extract)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			f.damaged = append(f.damaged, err)
		}
		return newIndex(kept)
	})
	for _, c := range g {
		made := c.made()
		all := inStore.made[made]
		if all != nil {
			f.Stored++
		} else if all = inExtract().made[made]; all == nil {
			f.Missing = append(f.Missing, c)
			if near := slices.Concat(inStore.called[c.called()], inExtract().called[c.called()]); near != nil {
				f.changed[c.nearest(near)]++
			}
			continue
		}
		if len(all) > 1 {
			f.several++
		}
		f.Runs = append(f.Runs, c.of(slices.MaxFunc(all, func(a, b *study.Run) int { return a.Finished.Compare(b.Finished) })))
	}
	if len(f.Runs) == 0 {
		return nil, errors.Join(append([]error{fmt.Errorf("experiment: %w: none of %d runs is in %s or %s%s", os.ErrNotExist, len(g), dir, extract, f.others())}, f.damaged...)...)
	}
	now := source.Of()
	for _, r := range f.Runs {
		if was, _, _ := strings.Cut(r.About.Code, ";"); was != now {
			f.code[was]++
		}
		f.device[r.About.Device]++
	}
	return f, nil
}

// index finds runs by what they are made of, and by their name.
type index struct{ made, called map[string]study.Runs }

func newIndex(rs study.Runs) *index {
	in := &index{map[string]study.Runs{}, map[string]study.Runs{}}
	for _, r := range rs {
		for _, from := range r.From {
			key := made{from, r.About.Config, r.About.Settings, r.About.Seed}.String()
			in.made[key] = append(in.made[key], r)
		}
		called := fmt.Sprintf("%s, seed %d", r, r.About.Seed)
		in.called[called] = append(in.called[called], r)
	}
	return in
}

// made is everything that a grid says of a run.
type made struct {
	From, Strategy, Settings *config.Config
	Seed                     uint64
}

func (m made) String() string {
	b, _ := json.Marshal(m) // configurations always encode
	return string(b)
}

func (c *Trial) made() string {
	return made{config.Of(c.World), config.Of(c.Strategy), c.Options.Config(), c.Options.Seed}.String()
}

// called is the name of the trial's run, with its labels and seed.
func (c *Trial) called() string {
	return fmt.Sprintf("%s, seed %d", c.of(new(study.Run)), c.Options.Seed)
}

// of returns the trial's run under the trial's name and labels.
func (c *Trial) of(r *study.Run) *study.Run {
	named := *r
	named.Name, named.Labels = c.runName(), c.labels()
	return &named
}

// nearest returns how the trial's run differs from the most similar of these.
func (c *Trial) nearest(runs study.Runs) string {
	var best []string
	for _, r := range runs {
		fields := append(config.Diff(r.About.Config, config.Of(c.Strategy)), c.otherWorld(r)...)
		for _, d := range config.Diff(r.About.Settings, c.Options.Config()) {
			fields = append(fields, "Options."+d)
		}
		if best == nil || len(fields) < len(best) {
			best = fields
		}
	}
	return strings.Join(best, ", ")
}

// otherWorld returns how the trial's world differs from what a run's federation is made from.
func (c *Trial) otherWorld(r *study.Run) (best []string) {
	if r.From == nil {
		return []string{"nothing says what its data are made from"}
	}
	for i, from := range r.From {
		if fields := config.Diff(from, config.Of(c.World)); i == 0 || len(fields) < len(best) {
			best = fields
		}
	}
	return best
}

// others lists what differs in runs that are named like those of the grid; empty if there are none.
func (f *Found) others() string {
	if len(f.changed) == 0 {
		return ""
	}
	n := 0
	for _, runs := range f.changed {
		n += runs
	}
	reasons := slices.SortedFunc(maps.Keys(f.changed), func(a, b string) int { return cmp.Or(f.changed[b]-f.changed[a], cmp.Compare(a, b)) })
	return fmt.Sprintf("\nof these, there with other options: %d: %s", n, some(reasons, func(reason string) string {
		if f.changed[reason] == n {
			return reason
		}
		return fmt.Sprintf("%s (%d)", reason, f.changed[reason])
	}))
}

// String reports, in a line each, where the runs are from, which are missing or failed, and what other code computed.
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
	say(len(f.Missing), "missing", some(f.Missing, (*Trial).called))
	if others := f.others(); others != "" {
		lines = append(lines, others[1:])
	}
	say(f.several, "there more than once, with other data, devices or code: the newest is taken", "")
	if len(f.device) > 1 {
		for _, kind := range slices.Sorted(maps.Keys(f.device)) {
			say(f.device[kind], "computed on "+kind, "")
		}
	}
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

// some lists the first three of a list.
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
