package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/yaml"
	"fedkit.example/fedkit/study"
)

// Grid is a study as it is written down: its runs.
type Grid []*Trial

// Trial is one run of a grid.
type Trial struct {
	*Experiment
	Labels []any // pairs of a key and a value, as study.Study.Add takes them

	tree map[string]any
	name string // if strategies vary
}

// ReadGrid reads a YAML file. It has a base, with the sections of an Experiment that all runs have, and what varies. There
// is a run for each combination, and what is first in the file varies slowest:
//
//	base:
//	  data: Digits
//	  model: MLP Hidden=64
//	  options: {Rounds: 30}
//	vary:
//	  world:
//	    even:   {partition: IID Clients=20}
//	    skewed: {partition: Dirichlet Clients=20 Alpha=0.1}
//	  strategy:
//	    FedAvg:  {strategy: FedAvg}
//	    FedProx: {strategy: FedProx, vary: {strategy.Mu: [0.1, 1]}}
//	  strategy.Local.LR: [0.1, 0.3]
//	  options.Seed: [1, 2, 3, 4, 5]
//	labels: {strategy.Local.LR: η, strategy.Mu: μ}
//
// A list has the values of the path that it stands under. A map has sets: names with the sections that are set together,
// and with what varies only there. The name of a strategy, or of a set of strategies, becomes the run's; what else varies
// is a label under the last word of its path, or that of labels; "" there leaves the label out. A seed is no label.
//
// The error names the path and what is allowed. All runs are made before any is run, so that a mistake is found first. There
// may be 100,000 of them.
func ReadGrid(path string) (Grid, error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f := gridFile{base: map[string]any{}, labels: map[string]string{}}
	for _, section := range file {
		entries, is := section.Value.(yaml.Map)
		if !is && section.Value != nil {
			return nil, fedkit.Invalid(section.Key, fmt.Sprint(section.Value), "names with what they stand for")
		}
		switch section.Key {
		case "base":
			f.base = yaml.Plain(entries).(map[string]any)
		case "vary":
			f.vary = entries
		case "labels":
			for _, l := range entries {
				f.labels[l.Key] = catalog.Text(yaml.Plain(l.Value))
			}
		default:
			return nil, fedkit.Invalid(path, fmt.Sprintf("%q", section.Key), "sections base, vary and labels")
		}
	}
	return f.grid()
}

// gridFile is what ReadGrid reads.
type gridFile struct {
	base   map[string]any
	vary   yaml.Map
	labels map[string]string

	paths []string // of all that varies
}

// mostRuns limits the runs of a grid.
const mostRuns = 100_000

// grid returns the runs.
func (f *gridFile) grid() (g Grid, err error) {
	if err := errors.Join(f.check("vary.", f.vary, nil), f.checkLabels()); err != nil {
		return nil, err
	}
	if n := runsOf(f.vary); n > mostRuns {
		return nil, fedkit.Invalid("vary", fmt.Sprintf("%.0f combinations", n), fmt.Sprintf("at most %d", mostRuns))
	}
	base := map[string]any{}
	catalog.Merge(base, f.base)
	for c := range f.combinations(&Trial{tree: base}, f.vary) {
		if c.Experiment, err = Build(c.tree); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		c.Options.Name = cmp.Or(c.name, c.Options.Name)
		g = append(g, c)
	}
	return g, nil
}

// runsOf returns the number of combinations, which may exceed any int.
func runsOf(vary yaml.Map) float64 {
	all := 1.0
	for _, v := range vary {
		list, _ := v.Value.([]any)
		n := float64(len(list))
		sets, _ := v.Value.(yaml.Map)
		for _, s := range sets {
			_, inner := split(s.Value)
			more, _ := inner.(yaml.Map)
			n += runsOf(more)
		}
		all *= n
	}
	return all
}

// check refuses what is neither a list nor sets, and a path that varies twice, since its second list would hide the first. Outer
// lists the paths that vary around it.
func (f *gridFile) check(at string, vary yaml.Map, outer []string) error {
	for _, v := range vary {
		path := v.Key
		if slices.ContainsFunc(outer, func(o string) bool { return strings.EqualFold(path, o) }) {
			return fedkit.Invalid(at+path, "given twice", "given once: case does not matter")
		}
		outer = append(slices.Clip(outer), path)
		f.paths = append(f.paths, path)
	}
	for _, v := range vary {
		path := at + v.Key
		sets, isSets := v.Value.(yaml.Map)
		if values, isList := v.Value.([]any); !isSets && !isList || len(values)+len(sets) == 0 {
			return fedkit.Invalid(path, fmt.Sprint(v.Value), "a list of values, or sets of what belongs together, by name")
		}
		for _, s := range sets {
			name := fmt.Sprintf("%s.%s", path, s.Key)
			if _, is := s.Value.(yaml.Map); !is && s.Value != nil {
				return fedkit.Invalid(name, fmt.Sprint(s.Value), "sections, such as {strategy: FedAvg}")
			}
			_, inner := split(s.Value)
			vary, is := inner.(yaml.Map)
			if !is && inner != nil {
				return fedkit.Invalid(name+".vary", fmt.Sprint(inner), "paths with lists of values")
			}
			if err := f.check(name+".vary.", vary, outer); err != nil {
				return err
			}
		}
	}
	return nil
}

// split returns the sections of a set, and its own variations.
func split(set any) (own map[string]any, vary any) {
	own = map[string]any{}
	items, _ := set.(yaml.Map)
	for _, item := range items {
		if item.Key == "vary" {
			vary = item.Value
			continue
		}
		own[item.Key] = yaml.Plain(item.Value)
	}
	return own, vary
}

// combinations yields a trial, derived from c, for each combination of what varies.
func (f *gridFile) combinations(c *Trial, vary yaml.Map) iter.Seq[*Trial] {
	return func(yield func(*Trial) bool) {
		if len(vary) == 0 {
			yield(c)
			return
		}
		path := vary[0].Key
		for n, inner := range f.values(c, path, vary[0].Value) {
			for one := range f.combinations(n, append(slices.Clone(inner), vary[1:]...)) {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// values yields the trial with each value of a path, and what varies only with that value.
func (f *gridFile) values(c *Trial, path string, values any) iter.Seq2[*Trial, yaml.Map] {
	return func(yield func(*Trial, yaml.Map) bool) {
		if sets, is := values.(yaml.Map); is {
			for _, s := range sets {
				own, vary := split(s.Value)
				n := c.named(path, f.label(path), s.Key)
				catalog.Merge(n.tree, own)
				inner, _ := vary.(yaml.Map)
				if !yield(n, inner) {
					return
				}
			}
			return
		}
		for _, value := range values.([]any) {
			value = yaml.Plain(value)
			n := c.named(path, f.label(path), catalog.Text(value))
			catalog.Set(n.tree, path, value)
			if !yield(n, nil) {
				return
			}
		}
	}
}

// named returns the trial with a readable value of a path. A strategy is no label: it names the run.
func (c *Trial) named(path, label, text string) *Trial {
	n := &Trial{tree: maps.Clone(c.tree), name: c.name, Labels: slices.Clone(c.Labels)}
	switch {
	case strings.EqualFold(path, "strategy"):
		n.name = text
	case label != "":
		n.Labels = append(n.Labels, label, text)
	}
	return n
}

// String is the trial's name: "FedProx Mu=0.1, α 0.1".
func (c *Trial) String() string {
	return (&study.Run{Name: cmp.Or(c.name, "run"), Labels: c.labels()}).String()
}

// labels returns the labels of the trial's run.
func (c *Trial) labels() (all []study.Label) {
	for pair := range slices.Chunk(c.Labels, 2) {
		all = append(all, study.Label{Key: fmt.Sprint(pair[0]), Value: fmt.Sprint(pair[1])})
	}
	return all
}

// label returns the label of a path. Runs that differ in their seed alone are repetitions: they need no label.
func (f *gridFile) label(path string) string {
	for p, label := range f.labels {
		if strings.EqualFold(p, path) {
			return label
		}
	}
	if strings.EqualFold(path, "options.seed") {
		return ""
	}
	end := path[strings.LastIndex(path, ".")+1:]
	for _, p := range f.paths {
		if !strings.EqualFold(p, path) && strings.EqualFold(p[strings.LastIndex(p, ".")+1:], end) {
			return path
		}
	}
	return end
}

// checkLabels refuses labels for what does not vary.
func (f *gridFile) checkLabels() error {
	for path, label := range f.labels {
		if !slices.ContainsFunc(f.paths, func(p string) bool { return strings.EqualFold(p, path) }) {
			return fedkit.Invalid("labels."+path, label, "the name of a path that is in vary")
		}
	}
	return nil
}

// Where returns the trials with a name, a seed or a label: Where("name", "FedAvg"), Where("α", "0.1").
func (g Grid) Where(key, value string) (some Grid) {
	for _, c := range g {
		if key == "name" && value == c.Name() || key == "seed" && value == fmt.Sprint(c.Options.Seed) ||
			slices.Contains(c.labels(), study.Label{Key: key, Value: value}) {
			some = append(some, c)
		}
	}
	return some
}

// Name is the name of the trial's run.
func (c *Trial) Name() string { return cmp.Or(c.Options.Name, config.Of(c.Strategy).Name()) }

// Study returns the study of the grid, whose runs are stored in a folder. Each federation is made once, and shared by its runs.
//
// Errors: missing or unsuitable data; the error names the run.
func (g Grid) Study(dir string) (*study.Study, error) {
	st, feds, sums := study.New(dir), map[string]*fedkit.Federation{}, digests{}
	for _, c := range g {
		c = c.reading(sums)
		key := made{From: config.Of(c.World)}.String()
		if feds[key] == nil {
			fed, err := c.Federation()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
			feds[key] = fed
		}
		st.AddFrom(c.World, feds[key], c.Strategy, c.Options, c.Labels...)
	}
	return st, nil
}
