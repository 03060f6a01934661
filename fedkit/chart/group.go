package chart

import "slices"

// Group is some of a figure's rows, which stand under a heading.
type Group struct {
	Name string   // its heading
	Rows []string // names of rows
}

// Grouped sorts the rows of figures whose y axis has names: groups in order from the top, each under a row with its name alone, and
// rows that are in no group below them all. Within a group, rows keep their order. The first figure has the names; the others have
// the same rows. It returns the figures.
//
//	plot.Dots(compare.Clients, "FedAvg", panels...).Grouped(chart.Group{Name: "robust means:", Rows: []string{"Krum", "FedMedian"}}).Show()
func (r Row) Grouped(groups ...Group) Row {
	if len(r) == 0 || slices.Contains(r, nil) || len(r[0].Y.Names) == 0 {
		return r
	}
	was, to := r[0].Y.Names, make([]float64, len(r[0].Y.Names)) // from below
	var now []string                                            // from the top
	take := func(in func(name string) bool, heading ...string) {
		if slices.ContainsFunc(was, in) {
			now = append(now, heading...)
		}
		for i, name := range slices.Backward(was) {
			if in(name) {
				to[i], now = float64(len(now)), append(now, name)
			}
		}
	}
	var grouped []string
	for _, g := range groups {
		take(func(name string) bool { return slices.Contains(g.Rows, name) }, g.Name)
		grouped = append(grouped, g.Rows...)
	}
	take(func(name string) bool { return !slices.Contains(grouped, name) })
	slices.Reverse(now)
	for i := range to {
		to[i] = float64(len(now)-1) - to[i]
	}
	for _, f := range r {
		f.regroup(now, to)
	}
	return r
}

// Grouped sorts the rows of the figure; see Row.Grouped.
func (f *Figure) Grouped(groups ...Group) *Figure { return Row{f}.Grouped(groups...)[0] }

// regroup moves each row i to row to[i] of those that there are now.
func (f *Figure) regroup(now []string, to []float64) {
	f.Height = f.Height * len(now) / len(to)
	if shown := slices.ContainsFunc(f.Y.Names, func(name string) bool { return name != "" }); shown {
		f.Y.Names = now
	} else {
		f.Y.Names = make([]string, len(now))
	}
	for k := range f.Series {
		for _, y := range [][]float64{f.Series[k].Y, f.Series[k].Y2} {
			for i, v := range y {
				if at := int(v); v > -1 && at < len(to) && v == float64(at) {
					y[i] = to[at]
				} else if v > float64(len(to)-1) { // the end of a line down all rows
					y[i] += float64(len(now) - len(to))
				}
			}
		}
	}
}
