package compare

import (
	"slices"

	"fedkit.example/fedkit/history"
)

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
