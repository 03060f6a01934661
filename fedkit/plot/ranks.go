package plot

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Ranks returns the figure of how methods rank on average by a quantity, compare.Accuracy, say; Show draws it. There is one
// row per method, the best on top, with a dot at its mean rank and a line as long as the critical difference. Methods whose lines do
// not overlap differ at the level of 5 % by Nemenyi's test (Demšar 2006, section 3.2.2), which depends on which methods take part:
// see Forest for differences from a baseline.
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
		*f = *rows(r.Methods, 480)
		f.Name, f.Title = "ranks", "Mean ranks by "+quantityOf(q, panels).Axis()
		ends := [2]float64{1, float64(len(r.Methods))}
		f.X = chart.Axis{Title: "mean rank (1 is best)", Include: ends[:], Bounds: ends}
		note(f, "mean of %d %s; Friedman's test: p = %.2g; line: critical difference, %.3g; methods whose lines do not overlap differ at 5 %%", r.Blocks, blocks, r.P, r.CD)
		dots, lines := chart.Series{Name: "mean rank", Mark: chart.Dots, Opacity: 1}, chart.Series{Name: "critical difference", Of: "mean rank", Mark: chart.Segments}
		for i, m := range r.Methods {
			tip := fmt.Sprintf("%s: %.3g", m, r.Ranks[i])
			estimate(&dots, &lines, float64(len(r.Methods)-1-i), r.Ranks[i], r.Ranks[i]-r.CD/2, r.Ranks[i]+r.CD/2, ends, tip)
		}
		f.Series = []chart.Series{lines, dots}
		return nil
	})
}
