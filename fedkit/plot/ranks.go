package plot

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Ranks returns the figure of how methods rank on average by a quantity, compare.Accuracy, say; Show draws it. There is one
// row per method, the best on top, with a dot at its mean rank. Over them are the critical difference, and one bar for
// each largest set of methods that do not differ at the level of 5 % by Nemenyi's test (Demšar 2006, section 3.2.2).
//
// Each panel is a problem: the ranks are over problems. Of a single panel, they are over seeds. See compare.Rank.
//
// Errors: those of compare.Rank.
func Ranks(q compare.Quantity, panels ...Panel) *chart.Figure {
	return chart.Make("plot: ranks", func(f *chart.Figure) error {
		r, err := compare.Rank(q, each(panels, func(p Panel) []*fedkit.History { return p.Runs })...)
		if err != nil {
			return err
		}
		blocks := "problems"
		if len(panels) == 1 {
			blocks = "seeds"
		}
		name := cmp.Or(q.Name, compare.Accuracy.Name)
		f.Name, f.Title, f.Point = "ranks", "Mean ranks by "+name, "method"
		f.Note = fmt.Sprintf("mean of %d %s; Friedman's test: p = %.2g; a bar joins methods that do not differ at 5 %%", r.Blocks, blocks, r.P)
		f.X = chart.Axis{Title: "mean rank (1 is best)", Include: []float64{1, float64(len(r.Methods))}}
		drawRanks(f, r)
		f.Height = 50 + 26*len(f.Y.Names)
		return nil
	})
}

// drawRanks adds the rows of the figure, from the bottom up.
func drawRanks(f *chart.Figure, r *compare.Ranking) {
	dots := chart.Series{Name: "mean rank", Mark: chart.Dots, Opacity: 1}
	bars := chart.Series{Name: "no difference", Mark: chart.Cells}
	row := func(name string) float64 {
		f.Y.Names = append(f.Y.Names, name)
		return float64(len(f.Y.Names) - 1)
	}
	for i, m := range slices.Backward(r.Methods) {
		dots.X, dots.Y = append(dots.X, r.Ranks[i]), append(dots.Y, row(m))
		dots.Tip = append(dots.Tip, fmt.Sprintf("%s: %.3g", m, r.Ranks[i]))
	}
	for i, c := range r.Cliques {
		name := ""
		if i == len(r.Cliques)-1 {
			name = "no difference"
		}
		y := row(name)
		bars.Cell(r.Ranks[c[0]], r.Ranks[c[1]], y-0.1, y+0.1, fmt.Sprintf("%s to %s", r.Methods[c[0]], r.Methods[c[1]]))
	}
	y := row(fmt.Sprintf("critical difference %.3g", r.CD))
	cd := chart.Series{Name: "critical difference", Mark: chart.Cells}
	cd.Cell(1, 1+r.CD, y-0.06, y+0.06, fmt.Sprintf("%.3g", r.CD))
	f.Series = []chart.Series{dots, bars, cd}
}
