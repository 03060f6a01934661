package plot

import (
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/table"
)

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
