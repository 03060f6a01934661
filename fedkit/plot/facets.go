package plot

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Panel is some of the runs of a study, those with one label: "α = 0.1". Tables across panels take the same: see compare.Pivot.
type Panel = compare.Panel

// Facets returns small figures of one kind side by side, one per panel, with one legend and, for axes of one title, the same
// ranges; Show draws them. Draw is a function such as Accuracy.
//
//	plot.Facets(plot.Accuracy, plot.Panel{"α = 0.1", skewed}, plot.Panel{"α = 100", even}).Show()
//
// Errors: no panel, those of draw.
func Facets(draw func(h ...*fedkit.History) *chart.Figure, panels ...Panel) chart.Row {
	if len(panels) == 0 {
		return chart.Row{chart.Failed(errors.New("plot: facets: no panel given"))}
	}
	if draw == nil {
		return chart.Row{chart.Failed(errors.New("plot: facets: draw is nil: must be a function such as plot.Accuracy"))}
	}
	row := make(chart.Row, len(panels))
	for i, p := range panels {
		f := draw(p.Runs...)
		if err := f.Err(); err != nil {
			return chart.Row{chart.Failed(fmt.Errorf("%s: %w", p.Name, err))}
		}
		f.Title, f.Width, f.Height = p.Name, 260, 200
		row[i] = f
	}
	for _, f := range row {
		f.Y.Log = slices.ContainsFunc(row, func(g *chart.Figure) bool { return g.Y.Log })
	}
	return row
}
