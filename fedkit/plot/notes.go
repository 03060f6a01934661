package plot

import (
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// Note returns the figure of one of the strategy's own figures (Record.Notes) against rounds; Show draws it. There is one
// line per configuration, as in Accuracy, over the rounds in which all of its runs have a finite value.
//
// Errors: no history, a nil one, one without the note; the error says which notes it has.
func Note(name string, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: note", func(f *chart.Figure) error {
		all, err := tracks(h)
		if err != nil {
			return err
		}
		for _, t := range all {
			if has := t.notes(); !slices.Contains(has, name) {
				return noSuch(t, "note", name, has)
			}
		}
		gs := groups(all)
		cs := each(gs, func(g *group) curve {
			return average(g.name, g.runs, func(t *track) []value { return t.noted(name) })
		})
		f.Name, f.Title, f.Y = name, name, chart.Axis{Title: name}
		err = drawCurves(f, cs, name)
		noteEach(f, remarks(gs))
		return err
	})
}

// notes returns the names of the notes of a run, sorted.
func (t *track) notes() []string {
	all := map[string]fedkit.Float{}
	for _, r := range t.history.Rounds {
		maps.Copy(all, r.Notes)
	}
	return slices.Sorted(maps.Keys(all))
}

// noted returns the values of a note.
func (t *track) noted(name string) (all []value) {
	for _, r := range t.history.Rounds {
		if v, ok := r.Notes[name]; ok {
			all = append(all, value{r.Round, float64(v)})
		}
	}
	return all
}
