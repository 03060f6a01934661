package plot

import (
	"fmt"
	"strings"
)

// remarks are what a reader should know of groups: which runs were left out, were stopped, or cannot be compared.
func remarks(gs []*group) (all []string) {
	numbered := false
	for _, g := range gs {
		numbered = numbered || g.numbered
		for _, t := range g.repeats {
			all = append(all, fmt.Sprintf("%s: seed %d was given again and counts once", g.name, t.history.Seed))
		}
		least, most, stopped := g.runs[0].seen, g.runs[0].seen, false
		for _, t := range g.runs {
			least, most = min(least, t.seen), max(most, t.seen)
			if t.stopped {
				all, stopped = append(all, fmt.Sprintf("%s: stopped after %d rounds", g.nameOf(t), t.seen)), true
			}
		}
		if least < most && !stopped {
			all = append(all, fmt.Sprintf("%s: the runs have %d to %d rounds", g.name, least, most))
		}
		if parts := g.runs[0].history.Config.Unnamed(); len(g.runs) > 1 && len(parts) > 0 {
			all = append(all, fmt.Sprintf("%s: runs may differ in %s, a function without a name", g.name, strings.Join(parts, ", ")))
		}
	}
	if numbered {
		all = append(all, "(1), (2), …: not one configuration, though nothing in words tells them apart")
	}
	return all
}

// nameOf tells a run from the others of its group.
func (g *group) nameOf(t *track) string {
	if len(g.runs) == 1 {
		return g.name
	}
	return fmt.Sprintf("%s, seed %d", g.name, t.history.Seed)
}
