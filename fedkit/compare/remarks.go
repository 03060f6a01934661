package compare

import (
	"fmt"
	"strings"
)

// Remarks tells readers about groups: which runs were left out, were stopped, or cannot be compared.
func Remarks(gs []*Group) (all []string) {
	numbered := false
	for _, g := range gs {
		if g == nil || len(g.Runs) == 0 || len(followed(g.Runs)) < len(g.Runs) {
			continue
		}
		numbered = numbered || g.numbered
		for _, r := range g.Repeats {
			all = append(all, fmt.Sprintf("%s: seed %d was given again and counts once", g.Name, r.History.Seed))
		}
		least, most, stopped := g.Runs[0].Rounds, g.Runs[0].Rounds, false
		for _, r := range g.Runs {
			least, most = min(least, r.Rounds), max(most, r.Rounds)
			if r.History.Stopped {
				all, stopped = append(all, fmt.Sprintf("%s: stopped after %d rounds", g.nameOf(r), r.Rounds)), true
			}
		}
		if least < most && !stopped {
			all = append(all, fmt.Sprintf("%s: the runs have %d to %d rounds", g.Name, least, most))
		}
		if parts := g.Runs[0].History.Config.Unnamed(); len(g.Runs) > 1 && len(parts) > 0 {
			all = append(all, fmt.Sprintf("%s: runs may differ in %s, a function without a name", g.Name, strings.Join(parts, ", ")))
		}
	}
	if numbered {
		all = append(all, "(1), (2), …: not one configuration, though nothing in words tells them apart")
	}
	return all
}

// nameOf distinguishes a run from the others of its group.
func (g *Group) nameOf(r *Run) string {
	if len(g.Runs) == 1 {
		return g.Name
	}
	return fmt.Sprintf("%s, seed %d", g.Name, r.History.Seed)
}
