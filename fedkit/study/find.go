package study

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/table"
	"gonum.org/v1/gonum/stat"
)

// Found is the part of a plan's runs that was found.
type Found struct {
	Runs    Runs     // in the plan's order, under its names and labels; those that failed too
	Stored  int      // how many of Runs are from the folder; the others are from the extract
	Missing []*Trial // that are in neither

	dir, extract string
	code, device map[string]int    // number of runs by the code that computed them, if that is not this code, and by the kind of device
	why          map[*Trial]string // of the missing ones: how they differ from the most similar run of that name
	several      int               // number of runs that were found more than once
	unread       int               // number of runs whose files are not here
	damaged      []error
	took         map[string][]float64 // seconds of runs, by name and labels and by part
	command      string               // that computes them, if they are the full part of a notebook
}

// Find returns the runs of the plan that exist, and computes nothing: those stored in a folder, and otherwise those of an extract
// (see Runs.Extract). A run is found by everything that the plan says of it: the strategy with all its options and parts,
// data, partition, model, hold-out clients, devices, attack, the options that change results, and the seed. Names and labels are
// for people: a run with other ones takes those of the plan.
//
// Files that the world names, such as CSV.File, are compared by content with those that the run read; where they are not here,
// by name alone, which String reports. No data are loaded otherwise, so what was found in FEDKIT_DATA is not compared; nor are
// the kind of device and fedkit's code, which String reports. Of several runs, such as from two machines, the one that finished
// last counts. A run can be found if a study of Plan.Study computed it, or found it stored.
//
// Errors: no run was found. Damaged ones are left out, and named by String.
func (p Plan) Find(dir, extract string) (*Found, error) {
	f := p.Status(dir, extract)
	if len(f.Runs) == 0 {
		return nil, errors.Join(append([]error{fmt.Errorf("study: %w: %s", os.ErrNotExist, f.none())}, f.damaged...)...)
	}
	return f, nil
}

// Status is Find for a plan of which there may be no run yet.
func (p Plan) Status(dir, extract string) *Found {
	f := &Found{dir: dir, extract: extract, code: map[string]int{}, device: map[string]int{}, why: map[*Trial]string{}, took: map[string][]float64{}}
	stored, damaged := List(dir)
	f.damaged = append(damaged, stored.Older(dir))
	inStore, inExtract := newIndex(stored), sync.OnceValue(func() *index { // if it is needed
		kept, err := Open(extract)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			err = kept.Older(extract)
		}
		f.damaged = append(f.damaged, err)
		return newIndex(kept)
	})
	now, sums := source.Of(), digests{}
	for _, t := range p.given() {
		c := t.reading(sums)
		all := inStore.find(c)
		if len(all) > 0 {
			f.Stored++
		} else if all = inExtract().find(c); len(all) == 0 {
			f.Missing = append(f.Missing, t)
			f.why[t] = c.nearest(slices.Concat(inStore.called[c.called()], inExtract().called[c.called()]))
			continue
		}
		if len(all) > 1 {
			f.several++
		}
		r := *slices.MaxFunc(all, func(a, b *Run) int { return a.Finished.Compare(b.Finished) })
		if c.files == nil && slices.ContainsFunc(r.From, readsFiles) {
			f.unread++
		}
		if was, _, _ := strings.Cut(r.About.Code, ";"); was != now {
			f.code[cmp.Or(was, "of an unknown version")]++
		}
		f.device[r.About.Device]++
		r.Name, r.Labels = t.Name(), t.labels()
		f.Runs = append(f.Runs, &r)
		for _, key := range []string{t.String(), inPart(t)} {
			f.took[key] = append(f.took[key], r.Seconds)
		}
	}
	return f
}

// Seconds returns how long a missing run takes where the others were computed: the mean of those that differ from it in the seed alone, else
// of those of its part; NaN if there are none.
func (f *Found) Seconds(t *Trial) float64 {
	if t == nil {
		return math.NaN()
	}
	if of := f.took[t.String()]; len(of) > 0 {
		return stat.Mean(of, nil)
	}
	return stat.Mean(f.took[inPart(t)], nil)
}

func inPart(t *Trial) string { return "part " + t.Value("part") }

// errYAML is the error of runs that no plan finds, since they name their data and model as a study in YAML did.
var errYAML = errors.New("written for a study in YAML: studies are Go now, in notebooks/studies; run the study again, which takes those of its folder as they are, and computes the others")

// Older says how many of the runs, which are those of a folder or an extract, were found by a study in YAML, and are not by one in Go. It
// is nil if there is none.
func (rs Runs) Older(path string) error {
	if n := len(slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return !r.ofYAML() })); n > 0 {
		return fmt.Errorf("%s: %d runs were %w", path, n, errYAML)
	}
	return nil
}

func (r *Run) ofYAML() bool {
	return r != nil && r.From != nil && !slices.ContainsFunc(r.From, func(c *config.Config) bool { t, _ := c.At("type"); return t != "experiment.World" })
}

// Full returns the full part of a notebook: the runs of its study that are in the folder runs/NAME beside it, and otherwise those of the
// extract NAME.runs. There may be none, or only some: String says why, and which command computes them.
func Full(name string, p Plan) *Found {
	f := p.Status(filepath.Join("runs", name), name+".runs")
	f.command = "./scripts/study " + name
	return f
}

// Part returns what there is of one part of the study: the trials that are labeled "part" with this name.
func (f *Found) Part(name string) *Found {
	some := *f
	some.Runs, some.Missing = f.Runs.Where("part", name), Plan(f.Missing).Where("part", name)
	return &some
}

// Draw draws the runs. If there is none, it prints why and goes on.
func (f *Found) Draw(draw func(Runs)) {
	if len(f.Runs) == 0 {
		fmt.Println("not drawn:", f)
		return
	}
	draw(f.Runs)
}

// none says that there is no run of the plan.
func (f *Found) none() string {
	places := f.dir
	if f.extract != "" {
		places += " or " + f.extract
	}
	if len(f.Missing) == 0 {
		return "there are no runs"
	}
	return fmt.Sprintf("none of %d runs is in %s%s", len(f.Missing), places, f.others())
}

// index finds runs by what they are made of, those that read files also by all but their world, and all by their name.
type index struct{ made, files, called map[string]Runs }

func newIndex(rs Runs) *index {
	in := &index{map[string]Runs{}, map[string]Runs{}, map[string]Runs{}}
	for _, r := range rs {
		if r.ofYAML() {
			continue
		}
		for _, from := range r.From {
			key := made{from, r.About.Config, r.About.Settings, r.About.Seed}
			in.made[key.String()] = append(in.made[key.String()], r)
			if key.From = nil; readsFiles(from) {
				in.files[key.String()] = append(in.files[key.String()], r)
			}
		}
		in.called[r.called()] = append(in.called[r.called()], r)
	}
	return in
}

// find returns the trial's runs. If its files are not here, they may have had any content.
func (in *index) find(t *Trial) (all Runs) {
	key := made{config.Of(t.World), config.Of(t.Strategy), t.Options.Config(), t.Options.Seed}
	all = slices.Clone(in.made[key.String()])
	if key.From = nil; t.files == nil && len(in.files) > 0 {
		for _, r := range in.files[key.String()] {
			if !slices.Contains(all, r) && slices.ContainsFunc(r.From, t.differsInFiles) {
				all = append(all, r)
			}
		}
	}
	return slices.DeleteFunc(all, func(r *Run) bool { return t.otherCode(r) != nil })
}

// made is everything that a plan says of a run.
type made struct {
	From, Strategy, Settings *config.Config
	Seed                     uint64
}

func (m made) String() string {
	b, _ := json.Marshal(m) // configurations always encode
	return string(b)
}

// called is the name of the trial's run, with its labels and seed.
func (t *Trial) called() string { return fmt.Sprintf("%s, seed %d", t, t.Options.Seed) }

// nearest returns how the trial's run differs from the most similar of these; "" if there are none.
func (t *Trial) nearest(runs Runs) string {
	var best []string
	for _, r := range runs {
		fields := append(config.Diff(r.About.Config, config.Of(t.Strategy)), t.otherWorld(r)...)
		for _, d := range config.Diff(r.About.Settings, t.Options.Config()) {
			fields = append(fields, "Options."+d)
		}
		if fields = append(fields, t.otherCode(r)...); best == nil || len(fields) < len(best) {
			best = fields
		}
	}
	return strings.Join(best, ", ")
}

// otherWorld returns how the trial's world differs from what a run's federation is made from.
func (t *Trial) otherWorld(r *Run) []string {
	if r.From == nil {
		return []string{"nothing says what its data are made from"}
	}
	var all [][]string
	for _, from := range r.From {
		all = append(all, config.Diff(from, config.Of(t.World)))
	}
	return slices.MinFunc(all, func(a, b []string) int { return len(a) - len(b) })
}

// otherCode returns how the types and the code of your own differ from those of a run. If the attack is your own, a run's may be
// its or the strategy's.
func (t *Trial) otherCode(r *Run) (fields []string) {
	if config.Types(t.Attack.By) != "" {
		return nil
	}
	if config.Types(t.Strategy, t.Options.Metrics) != r.About.Types {
		fields = append(fields, "types of your own")
	}
	if ownCode(source.Of(t.Strategy, t.Options.Metrics)) != ownCode(r.About.Code) {
		fields = append(fields, "code of your own")
	}
	return fields
}

// Why returns why the run of a trial was not found: what differs in the most similar one of its name, labels and seed, or "" if
// there is none.
func (f *Found) Why(t *Trial) string { return f.why[t] }

// others lists what differs in runs that are named like those of the plan; empty if there are none.
func (f *Found) others() string {
	changed := map[string]int{}
	for _, why := range f.why {
		changed[why]++
	}
	never := changed[""]
	if delete(changed, ""); len(changed) == 0 {
		return ""
	}
	n := len(f.why) - never
	says := fmt.Sprintf("\nof these, there with other options: %d: %s", n, frequent(changed, n))
	if never > 0 {
		says += fmt.Sprintf("\nof these, there under no options: %d", never)
	}
	return says
}

// String reports, in a line each, where the runs are from, which are missing (and how long these take) or failed, and what other code computed.
func (f *Found) String() string {
	var lines []string
	say := func(n int, what, more string) {
		if n > 0 {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s: %d: %s", what, n, more), ": "))
		}
	}
	say(f.Stored, "runs from the folder "+f.dir, "")
	if n := len(f.Runs) - f.Stored; n > 0 {
		say(n, fmt.Sprintf("runs from the extract %s, of %s", f.extract, f.computed()), "")
	}
	if len(f.Runs) == 0 {
		lines = append(lines, f.none())
	} else if n := len(f.Missing); n > 0 {
		say(n, "missing", first3(different(f.Missing, (*Trial).called), "; ")+f.hours()+f.others())
	}
	say(f.several, "there more than once, with other data, devices or code: the newest is taken", "")
	say(f.unread, "taken without the files that they read, which are not here and may have other content", "")
	if len(f.device) > 1 {
		lines = append(lines, "computed on "+frequent(f.device, len(f.Runs)))
	}
	failed := f.Runs.Failed()
	say(len(failed), "failed", first3(different(failed, func(r *Run) string { return r.Err().Error() }), "; "))
	others, seconds := 0, 0.0
	for _, n := range f.code {
		others += n
	}
	say(others, "computed by other code", fmt.Sprintf("%s; this is %s", frequent(f.code, others), source.Of()))
	for _, err := range f.damaged {
		if errors.Is(err, errYAML) {
			lines = append(lines, err.Error())
		} else if err != nil {
			lines = append(lines, "damaged: "+err.Error())
		}
	}
	if f.command != "" && len(f.Runs) == 0 {
		lines = append(lines, "this command computes them:\n"+f.command)
	} else if f.command != "" {
		for _, r := range f.Runs {
			seconds += r.Seconds
		}
		lines = append(lines, fmt.Sprintf("computed in %s of runs, by %s", table.Seconds(seconds), f.command))
	}
	return strings.Join(lines, "\n")
}

// hours says how long the missing runs take, as far as that is known.
func (f *Found) hours() string {
	known, unknown := 0.0, 0
	for _, t := range f.Missing {
		if s := f.Seconds(t); math.IsNaN(s) {
			unknown++
		} else {
			known += s
		}
	}
	switch {
	case unknown == len(f.Missing):
		return ""
	case unknown > 0:
		return fmt.Sprintf(" (about %s of runs, without %d of which none of their part is there)", table.Seconds(known), unknown)
	}
	return fmt.Sprintf(" (about %s of runs)", table.Seconds(known))
}

// computed says when, on which processors and from which commits the runs were computed.
func (f *Found) computed() string {
	runs, latest := slices.DeleteFunc(slices.Clone(f.Runs), func(r *Run) bool { return r == nil || r.About == nil }), time.Time{}
	for _, r := range runs {
		if r.Finished.After(latest) {
			latest = r.Finished
		}
	}
	words := latest.Format(time.DateOnly)
	if on := different(runs, func(r *Run) string { return r.About.Hardware }); on != nil {
		words += ", on " + first3(on, "; ")
	}
	if commits := different(runs, func(r *Run) string { return r.Commit }); commits != nil {
		words += ", commit " + first3(commits, "; ")
	}
	return words
}

// different returns the different words about a list, in order of appearance, without empty ones.
func different[T any](list []T, word func(T) string) (words []string) {
	for _, v := range list {
		if w := word(v); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}
