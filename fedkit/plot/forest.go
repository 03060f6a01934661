package plot

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/table"
)

// Forest returns the figure of how far methods are from a baseline by a quantity, over all pairs of runs with equal seeds in all
// panels: a row for each method, the best on top, with the estimate of the difference and its interval, corrected by Holm for the
// number of methods; Show draws it. Colors say which are better and which are worse than the baseline at the level of 5 %, after that
// correction. See compare.Effects for the tests.
//
//	plot.Forest(compare.Clients, "FedAvg", compare.Split("world", hs...)...).Show()
//
// Errors: those of compare.Effects.
func Forest(q compare.Quantity, baseline string, panels ...Panel) *chart.Figure {
	return chart.Make("plot: forest", func(f *chart.Figure) error {
		all, ranked, err := compare.Effects(q, baseline, panels...)
		if err != nil {
			return err
		}
		q = quantityOf(q, panels)
		*f = *rows(each(all, func(e compare.Effect) string { return e.Method }), 480)
		f.Name, f.Title, f.Legend = "forest-"+strings.ReplaceAll(q.Name, " ", "-"), "Difference from "+baseline, true
		f.X = chart.Axis{Title: q.Axis() + " minus that of " + baseline, Include: []float64{0}}
		scale := 1.0
		write := func(v float64) string { return table.Minus(fmt.Sprintf("%.3g", v)) }
		if q.Unit == "%" {
			scale, f.X.Title = 100, f.X.Title+", points"
			write = func(v float64) string { return strings.TrimSuffix(table.Percent(v), " %") }
		}
		dots, lines := classes(chart.Dots), classes(chart.Segments)
		for i, e := range all {
			c := 1
			if e.P > 0.05 {
				c = 2
			} else if e.Estimate < 0 == q.LowerIsBetter {
				c = 0
			}
			tip := fmt.Sprintf("%s: %s (%s to %s), p = %.2g, %d pairs", e.Method, write(e.Estimate), write(e.Lo), write(e.Hi), e.P, e.Pairs)
			estimate(&dots[c], &lines[c], float64(len(all)-1-i), scale*e.Estimate, scale*e.Lo, scale*e.Hi, [2]float64{}, tip)
		}
		f.Series = slices.Concat([]chart.Series{down(0, len(all), baseline)}, lines, dots)
		pairs := each(all, func(e compare.Effect) int { return e.Pairs })
		test := "paired t test, mean"
		if ranked {
			test = "Wilcoxon's signed-rank test, Hodges–Lehmann estimate"
		}
		note(f, "%s pairs of runs; %s; line: 95 %% confidence interval, corrected by Holm for %d methods; gray: no significant difference", span(pairs), test, len(all))
		return nil
	})
}

// classes are the series of a mark for methods that are better and worse than a baseline, and for those of which neither is certain.
func classes(m chart.Mark) []chart.Series {
	return []chart.Series{{Name: "better", Mark: m, Opacity: 1}, {Name: "worse", Mark: m, Opacity: 1}, {Name: "no difference", Mark: m, Ink: true, Opacity: 0.5}}
}

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
