package plot

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Grid returns the figure of a table: a row for each method, a column for each panel, and in each cell the mean over a group's runs
// on a scale of colors; Show draws it. The best of a column has an asterisk. The tooltip has the interval.
//
//	plot.Grid(compare.Pivot{By: compare.ARI}, compare.Split("skew", hs...)...).Show()
//
// Errors: those of compare.Pivot.Table.
func Grid(p compare.Pivot, panels ...Panel) *chart.Figure {
	return chart.Make("plot: grid", func(f *chart.Figure) error {
		all, err := newPivot(p, panels)
		if err != nil {
			return err
		}
		f.Name, f.Title, f.Point = "grid-"+strings.ReplaceAll(all.q.Name, " ", "-"), all.q.Axis(), "method"
		if all.q.Unit == "%" {
			f.Title += " (%)"
		}
		f.Note = strings.Replace(all.Note, "bold (* in text)", "*", 1)
		none := chart.Series{Name: "no value", Mark: chart.Cells, Ink: true, Opacity: 0.06}
		some := chart.Series{Of: all.q.Axis(), Mark: chart.Cells, Covers: all.q.Include}
		for k, panel := range panels {
			f.X.Names = append(f.X.Names, panel.Name)
			for i, row := range all.of {
				of, x, y := row[k], float64(k), float64(len(all.of)-1-i)
				s := &none
				if finite(of.mean) {
					s, some.Values = &some, append(some.Values, of.mean)
				}
				s.Cell(x-0.5, x+0.5, y-0.5, y+0.5, fmt.Sprintf("%s, %s: %s", all.methods[i], panel.Name, of.text))
				s.Text = append(s.Text, of.short())
			}
		}
		for _, name := range slices.Backward(all.methods) {
			f.Y.Names = append(f.Y.Names, name)
		}
		f.Series = []chart.Series{some, none}
		f.Width, f.Height = max(160, 72*len(panels)), 24*len(all.of)
		return nil
	})
}
