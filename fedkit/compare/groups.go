package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// Group is the runs of one configuration: one experiment with several seeds.
type Group struct {
	Name    string // of its runs, and what distinguishes them from other runs of that name: "FedAvg, Local.LR 0.1"
	Runs    []*Run // one per seed
	Repeats []*Run // duplicates: same configuration, same seeds, same scores. They do not count

	numbered bool // because no words distinguish it
}

// names returns those of groups.
func names(gs []*Group) []string { return each(gs, func(g *Group) string { return g.Name }) }

// place returns that of the group of a name or, without one, of the only group whose name goes on with labels or options, as "FedAvg, η 0.1"
// does after study.Runs.Best; −1 if there is none.
func place(gs []*Group, name string) int {
	all := names(gs)
	if i := slices.Index(all, name); i >= 0 {
		return i
	}
	longer := func(other string) bool { return strings.HasPrefix(other, name+", ") }
	i := slices.IndexFunc(all, longer)
	if i >= 0 && slices.ContainsFunc(all[i+1:], longer) {
		return -1
	}
	return i
}

// named returns the group at the place of a name, nil if there is none.
func named(gs []*Group, name string) *Group {
	if i := place(gs, name); i >= 0 {
		return gs[i]
	}
	return nil
}

// runsOf returns the runs of all groups.
func runsOf(gs []*Group) []*Run {
	return slices.Concat(each(gs, func(g *Group) []*Run { return g.Runs })...)
}

// Both reports whether the runs served personal models beside a global one.
func (g *Group) Both() bool {
	return !slices.ContainsFunc(g.Runs, func(r *Run) bool { return r == nil || !r.Personal || len(r.Global) == 0 })
}

// Groups sorts histories by configuration, in order of appearance: their name, the strategy with its options, the data and how
// they were dealt, the model, the pace on a clock. Histories of one group differ in their seeds only, be it the run's, the
// partition's or that of a part of the strategy, or in the device or the version of fedkit that computed them. If groups have the same name, what differs is
// added to it: "FedAvg, Local.LR 0.1", or in the end a number. Of a run that is given twice, the longer one counts.
//
// Errors: no history, a nil one.
func Groups(h ...*history.History) ([]*Group, error) {
	runs, err := Runs(h...)
	return GroupRuns(runs), err
}

// GroupRuns is Groups for runs that have been followed.
func GroupRuns(all []*Run) (gs []*Group) {
	known := map[string][]*Group{}
	byName := map[string][]*Group{}
	for _, r := range followed(all) {
		key := r.identity().configuration
		if !slices.ContainsFunc(known[key], func(g *Group) bool { return g.take(r) }) {
			g := &Group{Name: r.Name, Runs: []*Run{r}}
			gs, known[key], byName[r.Name] = append(gs, g), append(known[key], g), append(byName[r.Name], g)
		}
	}
	for _, same := range byName {
		if len(same) > 1 {
			tellApart(same)
		}
	}
	return gs
}

// take adds a run to the group if it belongs there. Of duplicates, the longer one counts.
func (g *Group) take(r *Run) bool {
	id, twin := r.identity(), -1
	if !g.Runs[0].identity().oneConfiguration(id) {
		return false
	}
	for i, o := range g.Runs {
		if !o.identity().oneData(id) {
			return false
		}
		if o.identity().oneDeal(id) && paired(o, r) {
			if !o.agrees(r) {
				return false // they differ in something that histories do not record
			}
			twin = i
		}
	}
	switch {
	case twin < 0:
		g.Runs = append(g.Runs, r)
	case r.Rounds > g.Runs[twin].Rounds:
		g.Repeats = append(g.Repeats, g.Runs[twin])
		g.Runs[twin] = r
	default:
		g.Repeats = append(g.Repeats, r)
	}
	return true
}

// identity is the key by which runs are grouped, made once so that grouping thousands of them compares strings alone.
type identity struct {
	configuration string // all but seeds, the rule of the partition, the data themselves and the task
	task          string // its fingerprint has the last digits of its initial parameters, in which devices differ, and the text of its program
	computed      string // the device, and fedkit's version, which may write another text
	strategy      unseeded
	partition     unseeded // of the rule; empty in old files, which fits any
	words         string   // the partition in words, with its seeds
	data          string   // hashes of the examples, of who holds them and of the devices; empty in old files
}

// identity memoizes the run's, which does not change while the run goes on.
func (r *Run) identity() *identity {
	if r.known != nil {
		return r.known
	}
	h := r.History
	id := &identity{strategy: unseed(h.Config), partition: unseed(rule(h)), words: h.Partition, task: h.Task}
	version, _, _ := strings.Cut(h.Code, ";") // behind it is the code of the user's own
	id.computed = h.Device + " " + version
	if m := h.Manifest; m != nil {
		id.data = m.Data + " " + m.Clients + " " + h.DevicesHash
	}
	if id.partition.config == "" {
		id.partition.seeds = seedsInWords(h.Partition)
	}
	pace, _ := h.Settings.At("Pace") // which decides whose results count
	id.configuration = fmt.Sprintf("%q %q %q %q %d %d %s %s %q", r.Name, h.Data, wordsOf(h), h.Model, h.Clients, h.Params,
		id.strategy.config, unseed(h.Interceptors).config, pace)
	r.known = id
	return id
}

// oneConfiguration compares all but seeds, and data by its hashes.
func (a *identity) oneConfiguration(b *identity) bool {
	p, q := a.partition.config, b.partition.config
	return a.configuration == b.configuration && (p == "" || q == "" || p == q) && (a.task == b.task || a.computed != b.computed)
}

// oneData reports whether two runs of one configuration had the same examples at the same clients, or may have had: those of old files,
// and those that were dealt with different seeds.
func (a *identity) oneData(b *identity) bool {
	return a.data == "" || b.data == "" || a.data == b.data || !a.oneDeal(b)
}

// oneDeal reports whether the data of two runs of one configuration were dealt with the same seeds.
func (a *identity) oneDeal(b *identity) bool {
	return a.words == b.words && a.partition.fits(b.partition)
}

// paired reports whether two runs, of one configuration or of two, have the same seeds: that of the run, and those of the
// partition and of parts of the strategy as far as both have them.
func paired(a, b *Run) bool {
	x, y := a.identity(), b.identity()
	return a.History.Seed == b.History.Seed && x.strategy.fits(y.strategy) && x.partition.fits(y.partition)
}

// unseeded is a configuration as JSON without its seeds, and these. It is empty if there is no configuration.
type unseeded struct {
	config string
	seeds  map[string]string // by path; a seed of 0 is not there
}

func unseed(c *config.Config) (u unseeded) {
	b, err := json.Marshal(c)
	if c == nil || err != nil { // a configuration always has a JSON form
		return u
	}
	if bytes.Contains(b, []byte(`"Seed"`)) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var tree any
		if d.Decode(&tree) == nil {
			u.seeds = map[string]string{}
			u.take("", tree)
			b, _ = json.Marshal(tree)
		}
	}
	u.config = string(b)
	return u
}

// take moves the seeds of a tree into u.seeds.
func (u *unseeded) take(path string, tree any) {
	switch t := tree.(type) {
	case []any:
		for i, e := range t {
			u.take(fmt.Sprintf("%s[%d]", path, i), e)
		}
	case map[string]any:
		if s, ok := t["Seed"]; ok {
			u.seeds[path] = fmt.Sprint(s)
			delete(t, "Seed")
		}
		for name, e := range t {
			u.take(path+"."+name, e)
			if o, ok := e.(map[string]any); ok && len(o) == 0 { // a part in which nothing but the seed was set
				delete(t, name)
			}
		}
	}
}

// fits reports whether the seeds are equal: all of them if the configurations are equal but for seeds, else those that are
// at the same place in both.
func (u unseeded) fits(v unseeded) bool {
	if u.config == v.config {
		return maps.Equal(u.seeds, v.seeds)
	}
	for path, seed := range u.seeds {
		if other, ok := v.seeds[path]; ok && other != seed {
			return false
		}
	}
	return true
}

var seedInWords = regexp.MustCompile(`, seed (\d+)`)

// wordsOf is the partition in words, without its seeds.
func wordsOf(h *history.History) string {
	if !strings.Contains(h.Partition, ", seed ") { // a regular expression is slow
		return h.Partition
	}
	return seedInWords.ReplaceAllString(h.Partition, "")
}

func seedsInWords(partition string) map[string]string {
	seeds := map[string]string{}
	for i, m := range seedInWords.FindAllStringSubmatch(partition, -1) {
		seeds[fmt.Sprint(i)] = m[1]
	}
	return seeds
}

// tellApart adds to the names of groups, which are all the same, the options in which they differ: "FedAvg, Local.LR 0.1".
// Options that are not set add nothing. Groups that this leaves alike get other differences, and in the end a number.
func tellApart(gs []*Group) {
	hs := each(gs, func(g *Group) *history.History { return g.Runs[0].History })
	differ := differences(hs)
	if len(count(labels(gs[0].Name, len(gs), differ))) < len(gs) {
		differ = append(differ, finer(hs)...)
	}
	names := labels(gs[0].Name, len(gs), differ)
	of, seen := count(names), map[string]int{}
	for i, g := range gs {
		if g.Name = names[i]; of[g.Name] > 1 {
			seen[g.Name]++
			g.Name, g.numbered = fmt.Sprintf("%s (%d)", g.Name, seen[g.Name]), true
		}
	}
}

// differences lists what distinguishes histories: options of the strategy, pace, data, partition, model.
func differences(hs []*history.History) []config.Difference {
	pace := slices.DeleteFunc(options(hs, func(h *history.History) *config.Config { return h.Settings }), func(d config.Difference) bool {
		return !strings.HasPrefix(d.Path, "Pace")
	})
	return slices.Concat(options(hs, func(h *history.History) *config.Config { return h.Config }), pace,
		words(hs, func(h *history.History) string { return h.Data }), words(hs, wordsOf),
		words(hs, func(h *history.History) string { return h.Model }))
}

// finer lists further differences.
func finer(hs []*history.History) []config.Difference {
	return slices.Concat(options(hs, rule),
		words(hs, func(h *history.History) string { return fmt.Sprintf("%d clients", h.Clients) }),
		words(hs, func(h *history.History) string { return fmt.Sprintf("%d parameters", h.Params) }))
}

// options returns where configurations of histories differ, but for seeds.
func options(hs []*history.History, of func(*history.History) *config.Config) []config.Difference {
	return slices.DeleteFunc(config.Vary(each(hs, of)...), func(d config.Difference) bool { return strings.HasSuffix("."+d.Path, ".Seed") })
}

// words returns what histories say of one thing, if they do not all agree.
func words(hs []*history.History, say func(*history.History) string) []config.Difference {
	values := each(hs, say)
	if len(count(values)) == 1 {
		return nil
	}
	return []config.Difference{{Values: values}}
}

// labels returns, for each of n, the name with its values.
func labels(name string, n int, all []config.Difference) []string {
	names := slices.Repeat([]string{name}, n)
	for _, d := range all {
		path := strings.TrimPrefix(d.Path, "type") // a type says what it is
		for i, v := range d.Values {
			if v != "" && v != "not set" {
				names[i] += ", " + strings.TrimSpace(path+" "+strings.TrimSuffix(v, "{}"))
			}
		}
	}
	return names
}

func count(names []string) map[string]int {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	return n
}

// rule is the configuration of the partition, nil in old files.
func rule(h *history.History) *config.Config {
	if h.Manifest == nil {
		return nil
	}
	return h.Manifest.Config
}

// Panel is some of the runs of a study, those with one label: "α = 0.1".
type Panel struct {
	Name string             // of the column, or above the figure
	Runs []*history.History // that are in it
}

// Split returns a panel for each value of a label or option (see history.History.Value), in order of appearance. In a panel, the names
// of a study's runs have only the labels that distinguish its own. Runs without the label are in a panel called "no α".
func Split(label string, h ...*history.History) (all []Panel) {
	for _, h := range h {
		name := "no " + label
		if h != nil {
			if v, ok := h.Value(label); ok {
				name = v
			}
			renamed := *h
			h = &renamed
		}
		i := slices.IndexFunc(all, func(p Panel) bool { return p.Name == name })
		if i < 0 {
			i, all = len(all), append(all, Panel{Name: name})
		}
		all[i].Runs = append(all[i].Runs, h)
	}
	for _, p := range all {
		history.Distinguish(p.Runs)
	}
	return all
}
