package plot

import (
	"regexp"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
)

// group is the runs of one configuration: one experiment with several seeds.
type group struct {
	name     string // of its runs, and what sets them apart from other runs of that name
	numbered bool   // because nothing in words does
	runs     []*track
	repeats  []*track // runs that are there already: same configuration, same seeds, same scores. They do not count
}

// both says whether the runs served personal models beside a global one.
func (g *group) both() bool {
	return !slices.ContainsFunc(g.runs, func(t *track) bool { return !t.personal || len(t.global) == 0 })
}

// groups sorts runs by configuration, in order of appearance: what they are called, the strategy with its options, the
// data and how they were dealt, the model. Runs of one group differ in their seeds only, be it the run's, the
// partition's or that of a part of the strategy.
func groups(all []*track) (gs []*group) {
	byName := map[string][]*group{}
	for _, t := range all {
		same := byName[t.name]
		if !slices.ContainsFunc(same, func(g *group) bool { return g.take(t) }) {
			g := &group{name: t.name, runs: []*track{t}}
			gs, byName[t.name] = append(gs, g), append(same, g)
		}
	}
	for _, same := range byName {
		if len(same) > 1 {
			tellApart(same)
		}
	}
	return gs
}

// take adds a run to the group if it belongs there. Of a run that is there twice, the longer one counts.
func (g *group) take(t *track) bool {
	if !oneConfiguration(g.runs[0].history, t.history) {
		return false
	}
	twin := -1
	for i, u := range g.runs {
		switch {
		case !oneData(u.history, t.history):
			return false
		case oneSeed(u.history, t.history):
			if !u.agrees(t) {
				return false // they differ in something that histories do not say
			}
			twin = i
		}
	}
	switch {
	case twin < 0:
		g.runs = append(g.runs, t)
	case t.seen > g.runs[twin].seen:
		g.repeats = append(g.repeats, g.runs[twin])
		g.runs[twin] = t
	default:
		g.repeats = append(g.repeats, t)
	}
	return true
}

// oneConfiguration compares all but seeds, and data by its hashes.
func oneConfiguration(a, b *fedkit.History) bool {
	return a.Data == b.Data && a.Model == b.Model && a.Clients == b.Clients && a.Params == b.Params &&
		unseeded(a.Partition) == unseeded(b.Partition) &&
		len(options(a.Config, b.Config)) == 0 && (rule(a) == nil || rule(b) == nil || len(options(rule(a), rule(b))) == 0)
}

// oneData says whether two runs had the same examples at the same clients, or may have had: those of old files, and
// those that were dealt with different seeds.
func oneData(a, b *fedkit.History) bool {
	return a.Manifest == nil || b.Manifest == nil || a.Manifest.Equal(*b.Manifest) || !oneDeal(a, b)
}

// oneDeal says whether the data were dealt by the same rule with the same seeds.
func oneDeal(a, b *fedkit.History) bool {
	return a.Partition == b.Partition && (rule(a) == nil || rule(b) == nil || config.Vary(rule(a), rule(b)) == nil)
}

// oneSeed says whether two runs of one configuration have the same seeds.
func oneSeed(a, b *fedkit.History) bool {
	return a.Seed == b.Seed && oneDeal(a, b) && config.Vary(a.Config, b.Config) == nil
}

// rule is the configuration of the partition, nil in old files.
func rule(h *fedkit.History) *config.Config {
	if h.Manifest == nil {
		return nil
	}
	return h.Manifest.Config
}

// options returns where configurations differ, but for seeds.
func options(configs ...*config.Config) []config.Difference {
	return slices.DeleteFunc(config.Vary(configs...), func(d config.Difference) bool { return strings.HasSuffix("."+d.Path, ".Seed") })
}

var seedInWords = regexp.MustCompile(`, seed \d+`)

// unseeded is a partition in words, without its seeds.
func unseeded(partition string) string { return seedInWords.ReplaceAllString(partition, "") }
