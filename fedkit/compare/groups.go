package compare

import (
	"slices"

	"fedkit.example/fedkit/history"
)

// Group is the runs of one configuration: one experiment with several seeds.
type Group struct {
	Name    string // of its runs, and what distinguishes them from other runs of that name: "FedAvg, Local.LR 0.1"
	Runs    []*Run // one per seed
	Repeats []*Run // duplicates: same configuration, same seeds, same scores. They do not count

	numbered bool // because no words distinguish it
}

// Both reports whether the runs served personal models beside a global one.
func (g *Group) Both() bool {
	return !slices.ContainsFunc(g.Runs, func(r *Run) bool { return r == nil || !r.Personal || len(r.Global) == 0 })
}

// Groups sorts histories by configuration, in order of appearance: their name, the strategy with its options, the data and how
// they were dealt, the model, the pace on a clock. Histories of one group differ in their seeds only, be it the run's, the
// partition's or that of a part of the strategy. If groups have the same name, what differs is added to it: "FedAvg, Local.LR
// 0.1", or in the end a number. Of a run that is given twice, the longer one counts.
//
// Errors: no history, a nil one.
func Groups(h ...*history.History) ([]*Group, error) {
	runs, err := Runs(h...)
	if err != nil {
		return nil, err
	}
	return GroupRuns(runs), nil
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
	id := r.identity()
	if !g.Runs[0].identity().oneConfiguration(id) {
		return false
	}
	twin := -1
	for i, o := range g.Runs {
		switch {
		case !o.identity().oneData(id):
			return false
		case oneSeed(o, r):
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
