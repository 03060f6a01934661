package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// identity is the key by which runs are grouped, made once so that grouping thousands of them compares strings alone.
type identity struct {
	configuration string // all but seeds, the rule of the partition and the data themselves
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
	id := &identity{strategy: unseed(h.Config), words: h.Partition}
	if m := h.Manifest; m != nil {
		id.data = m.Data + " " + m.Clients + " " + h.DevicesHash
		id.partition = unseed(m.Config)
	}
	if id.partition.with == "" {
		id.partition.seeds = seedsInWords(h.Partition)
	}
	pace, _ := h.Settings.At("Pace") // which decides whose results count
	id.configuration = fmt.Sprintf("%q %q %q %q %q %d %d %s %s %q", r.Name, h.Data, wordsOf(h), h.Model, h.Task, h.Clients, h.Params,
		id.strategy.without, unseed(h.Interceptors).without, pace)
	r.known = id
	return id
}

// oneConfiguration compares all but seeds, and data by its hashes.
func (a *identity) oneConfiguration(b *identity) bool {
	p, q := a.partition.without, b.partition.without
	return a.configuration == b.configuration && (p == "" || q == "" || p == q)
}

// oneData reports whether two runs had the same examples at the same clients, or may have had: those of old files, and
// those that were dealt with different seeds.
func (a *identity) oneData(b *identity) bool {
	return a.data == "" || b.data == "" || a.data == b.data || !a.oneDeal(b)
}

// oneDeal reports whether the data were dealt by the same rule with the same seeds.
func (a *identity) oneDeal(b *identity) bool {
	p, q := a.partition.with, b.partition.with
	return a.words == b.words && (p == "" || q == "" || p == q)
}

// oneSeed reports whether two runs of one configuration have the same seeds.
func oneSeed(a, b *Run) bool {
	x, y := a.identity(), b.identity()
	return a.History.Seed == b.History.Seed && x.oneDeal(y) && x.strategy.with == y.strategy.with
}

// paired reports whether two runs, of one configuration or of two, have the same seeds: that of the run, and those of the
// partition and of parts of the strategy as far as both have them.
func paired(a, b *Run) bool {
	x, y := a.identity(), b.identity()
	return a.History.Seed == b.History.Seed && x.strategy.fits(y.strategy) && x.partition.fits(y.partition)
}

// unseeded is a configuration as JSON, with its seeds and without. All is empty if there is no configuration.
type unseeded struct {
	with, without string
	seeds         map[string]string // by path; a seed of 0 is not there
}

func unseed(c *config.Config) (u unseeded) {
	b, err := json.Marshal(c)
	if c == nil || err != nil { // a configuration always has a JSON form
		return u
	}
	u.with, u.without = string(b), string(b)
	if !bytes.Contains(b, []byte(`"Seed"`)) {
		return u
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) == nil {
		u.seeds = map[string]string{}
		u.take("", tree)
		b, _ = json.Marshal(tree)
		u.without = string(b)
	}
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
	if u.without == v.without {
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
