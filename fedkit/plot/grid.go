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
		f.Y.Names = backward(all.methods)
		f.Series = []chart.Series{some, none}
		f.Width, f.Height = max(160, 72*len(panels)), 24*len(all.of)
		return nil
	})
}

// pivot is a table of methods and panels as numbers.
type pivot struct {
	*table.Table
	q       compare.Quantity
	methods []string
	of      [][]entry // by method and panel
}

// entry is the quantity of a method in a panel.
type entry struct {
	mean, half float64 // NaN for none, and without an interval
	text       string  // with the interval
	best       bool
}

func newPivot(p compare.Pivot, panels []Panel) (*pivot, error) {
	p.By = quantityOf(p.By, panels)
	t := p.Table(panels...)
	if err := t.Err(); err != nil {
		return nil, err
	}
	all := &pivot{Table: t, q: p.By}
	for i, line := range t.Lines[1:] {
		row, data := make([]entry, len(panels)), t.Data[i+1]
		for k := range panels { // each has a mean, half of its interval and the number of runs
			row[k] = entry{data[1+3*k].(float64), data[2+3*k].(float64), line[1+k], t.Bold[table.At{Line: i + 1, Column: k + 1}]}
		}
		all.methods, all.of = append(all.methods, line[0]), append(all.of, row)
	}
	return all, nil
}

// quantityOf returns the quantity as the runs of panels have it.
func quantityOf(q compare.Quantity, panels []Panel) compare.Quantity {
	runs, _ := compare.Runs(slices.Concat(each(panels, func(p Panel) []*fedkit.History { return p.Runs })...)...)
	return q.For(runs...)
}

// short is the mean without its interval and the sign of percentages, but with the share of runs that have it, if not all do, and
// with an asterisk if it is the best.
func (e entry) short() string {
	mean, interval, _ := strings.Cut(e.text, " ±")
	if at := strings.LastIndex(interval, " ("); at >= 0 {
		mean += interval[at:]
	}
	if mean = strings.TrimSuffix(mean, " %"); e.best {
		mean += "*"
	}
	return mean
}
