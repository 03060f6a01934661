package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// By returns the figure of a quantity against a label or option whose values are numbers, such as a step size; Show draws it. There is
// one line per configuration apart from the label, in the order of its values: the mean over seeds with bands as in Over or, of fewer
// than five, small dots for the seeds. Runs without a finite value are left out; the note counts them. The horizontal axis is logarithmic if the
// values lie more evenly that way. See compare.Split for labels that are words.
//
//	plot.By("η", compare.LastRounds(10, compare.Accuracy), runs.Light()...).Show()
//
// Errors: no history, a nil one, histories that cannot be compared, a label that one does not have or that is no number, nothing that
// is finite.
func By(label string, q compare.Quantity, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: by "+label, func(f *chart.Figure) error {
		all, err := compare.Runs(h...)
		if err != nil {
			return err
		}
		b, err := compare.CommonBasis(all)
		if err != nil {
			return err
		}
		q := q.For(all...)
		v, cs := &view{Quantity: q, basis: b, bounds: q.Range}, []curve{}
		var lost []string // the configurations of runs without a finite value
		panels := compare.Split(label, h...)
		xs := map[string]float64{} // by the name of a panel
		for _, p := range panels {
			if xs[p.Name], err = strconv.ParseFloat(p.Name, 64); err != nil {
				return fmt.Errorf("history %q does not have it, or not as a number: %q", p.Runs[0].Name, p.Name)
			}
		}
		slices.SortStableFunc(panels, func(p, q Panel) int { return cmp.Compare(xs[p.Name], xs[q.Name]) })
		for _, p := range panels {
			runs, err := compare.Runs(p.Runs...)
			if err != nil {
				return err
			}
			for _, g := range compare.GroupRuns(runs) {
				v.groups = append(v.groups, g)
				i := slices.IndexFunc(cs, func(c curve) bool { return c.name == g.Name })
				if i < 0 {
					i, cs = len(cs), append(cs, curve{name: g.Name, single: []chart.Series{{Mark: chart.Dots}}})
				}
				var values []float64
				dots := &cs[i].single[0]
				for _, r := range g.Runs {
					if of := q.Value(r, b); v.take(of) {
						values = append(values, of)
						dots.X, dots.Y = append(dots.X, xs[p.Name]), append(dots.Y, of)
					} else {
						lost = append(lost, g.Name)
					}
				}
				if values != nil {
					cs[i].add(xs[p.Name], values...)
					cs[i].runs = max(cs[i].runs, len(values))
				}
			}
		}
		_ = v.draw(f, cs) // curves without a point are left out
		if f.Series == nil {
			return fmt.Errorf("no run has a finite %s", q.Axis())
		}
		f.Name, f.Title = f.Name+"-by-"+label, q.Axis()+" by "+label
		f.X = chart.Curves("", label, "", f.Series...).X
		if lost != nil {
			note(f, "left out: %s without a finite %s (%s)", plural(len(lost), "run"), q.Axis(), some(lost))
		}
		v.remark(f)
		return nil
	})
}
