package plot

import (
	"fmt"
	"slices"
	"strconv"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// By returns the figure of a quantity against a label or option whose values are numbers, such as a step size; Show draws it. There is
// one line per configuration apart from the label, as in Over, with bands over seeds. The horizontal axis is logarithmic if the
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
		v, cs, at, lost := &view{Quantity: q, basis: b, bounds: q.Range}, []curve{}, map[string]int{}, 0
		for _, p := range compare.Split(label, h...) {
			x, err := strconv.ParseFloat(p.Name, 64)
			if err != nil {
				return fmt.Errorf("history %q does not have it, or not as a number: %q", p.Runs[0].Name, p.Name)
			}
			runs, err := compare.Runs(p.Runs...)
			if err != nil {
				return err
			}
			for _, g := range compare.GroupRuns(runs) {
				v.groups = append(v.groups, g)
				values := each(g.Runs, func(r *compare.Run) float64 { return q.Value(r, b) })
				values = slices.DeleteFunc(values, func(of float64) bool { return !v.take(of) })
				lost += len(g.Runs) - len(values)
				i, known := at[g.Name]
				if !known {
					i, cs = len(cs), append(cs, curve{name: g.Name})
					at[g.Name] = i
				}
				if len(values) > 0 {
					cs[i].add(x, values...)
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
		if lost > 0 {
			note(f, "left out: %d runs without a finite %s", lost, q.Axis())
		}
		v.remark(f)
		return nil
	})
}
