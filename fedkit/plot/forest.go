package plot

import (
	"fmt"
	"strings"

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
		e, err := compare.Effects(q, baseline, panels...)
		if err != nil {
			return err
		}
		if q.Axis() == "" {
			q = compare.Accuracy
		}
		*f = *rows(each(e.Effects, func(e compare.Effect) string { return e.Method }), 480)
		f.Name, f.Title = "forest-"+strings.ReplaceAll(q.Name, " ", "-"), "Difference from "+baseline
		f.Legend, f.X = true, chart.Axis{Title: q.Axis() + " − that of " + baseline, Percent: q.Unit == "%", Include: []float64{0}}
		f.Series = []chart.Series{down(0, len(e.Effects), baseline)}
		dots, lines := make([]chart.Series, 3), make([]chart.Series, 3)
		for c, name := range []string{"better", "worse", "no difference"} {
			gray := c == 2
			dots[c] = chart.Series{Name: name, Mark: chart.Dots, Ink: gray, Opacity: 1}
			lines[c] = chart.Series{Name: name, Mark: chart.Segments, Ink: gray}
			if gray {
				dots[c].Opacity, lines[c].Opacity = 0.5, 0.5
			}
		}
		unit, write := "", func(v float64) string { return table.Minus(fmt.Sprintf("%.3g", v)) }
		if q.Unit == "%" {
			unit, write = " points", func(v float64) string { return strings.TrimSuffix(table.Percent(v), " %") }
		}
		fewest, most := e.Effects[0].Pairs, 0
		for i, d := range e.Effects {
			c := 2
			switch {
			case d.P > 0.05:
			case d.Estimate < 0 == q.LowerIsBetter:
				c = 0
			default:
				c = 1
			}
			tip := fmt.Sprintf("%s: %s%s (%s to %s), p = %.2g, %d pairs", d.Method, write(d.Estimate), unit, write(d.Lo), write(d.Hi), d.P, d.Pairs)
			estimate(&dots[c], &lines[c], float64(len(e.Effects)-1-i), d.Estimate, d.Lo, d.Hi, [2]float64{}, tip)
			fewest, most = min(fewest, d.Pairs), max(most, d.Pairs)
		}
		f.Series = append(append(f.Series, lines...), dots...)
		f.Note = forestNote(e, fewest, most)
		return nil
	})
}

// forestNote says which tests there are, of how many pairs.
func forestNote(e *compare.EffectSizes, fewest, most int) string {
	pairs, test := fmt.Sprint(most), "paired t test, mean"
	if fewest < most {
		pairs = fmt.Sprintf("%d to %d", fewest, most)
	}
	if e.Ranked {
		test = "Wilcoxon's signed-rank test, Hodges–Lehmann estimate"
	}
	says := fmt.Sprintf("%s pairs of runs; %s; line: 95 %% confidence interval, corrected by Holm for %d methods; gray: no significant difference", pairs, test, len(e.Effects))
	if e.Without != nil {
		says += "; without a pair: " + strings.Join(e.Without, ", ")
	}
	return says
}
