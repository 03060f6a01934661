package plot

import (
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Note returns the figure of one of the strategy's own figures (Record.Notes) against rounds; Show draws it. There is one
// line per configuration, as in Accuracy, over the rounds in which all of its runs have a finite value.
//
// Errors: no history, a nil one, one without the note; the error says which notes it has.
func Note(name string, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: note", func(f *chart.Figure) error {
		all, err := compare.Runs(h...)
		if err != nil {
			return err
		}
		for _, t := range all {
			if has := notes(t); !slices.Contains(has, name) {
				return noSuch(t, "note", name, has)
			}
		}
		gs := compare.GroupRuns(all)
		cs := each(gs, func(g *compare.Group) curve {
			return average(g.Name, g.Runs, func(r *compare.Run) []value { return valuesOf(r, name) })
		})
		f.Name, f.Title, f.Y = name, name, chart.Axis{Title: name}
		err = drawCurves(f, cs, name)
		noteEach(f, compare.Remarks(gs))
		return err
	})
}

// notes returns the names of the notes of a run, sorted.
func notes(r *compare.Run) []string {
	all := map[string]fedkit.Float{}
	for i := range r.History.Rounds {
		maps.Copy(all, r.History.Rounds[i].Notes)
	}
	return slices.Sorted(maps.Keys(all))
}

// noted returns the values of a note.
func valuesOf(r *compare.Run, name string) (all []value) {
	for i := range r.History.Rounds {
		rec := &r.History.Rounds[i]
		if v, ok := rec.Notes[name]; ok {
			all = append(all, value{rec.Round, float64(v)})
		}
	}
	return all
}
