package plot

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Dots returns the figures of a quantity of many methods: a figure for each panel, side by side, with the same rows, one for each
// method; Show draws them. A dot is the mean over a group's runs, the line through it the 95 % confidence interval, as in the table of
// a compare.Pivot. The methods with the best mean ranks over the panels are on top. A baseline, unless it is "", has a line down each
// figure. Each figure has a range of its own.
//
//	plot.Dots(compare.Clients, "FedAvg", compare.Split("world", hs...)...).Show()
//
// Errors: those of compare.Pivot.Table, a baseline that is no method.
func Dots(q compare.Quantity, baseline string, panels ...Panel) chart.Row {
	return makeRow("plot: dots", func() (chart.Row, error) { return dots(q, baseline, panels) })
}

func dots(q compare.Quantity, baseline string, panels []Panel) (row chart.Row, err error) {
	p, err := newPivot(compare.Pivot{By: q, Ranked: true}, panels)
	if err != nil {
		return nil, err
	}
	base := slices.Index(p.methods, baseline)
	if base < 0 && baseline != "" {
		return nil, fmt.Errorf("baseline %q: must be one of %s", baseline, strings.Join(p.methods, ", "))
	}
	q = p.q
	var shown, without []int
	for k := range panels {
		if slices.ContainsFunc(p.of, func(of []entry) bool { return finite(of[k].mean) }) {
			shown = append(shown, k)
		} else {
			without = append(without, k)
		}
	}
	if shown == nil {
		return nil, fmt.Errorf("no run has a finite %s", q.Axis())
	}
	lines := (len(shown) + 3) / 4
	across := (len(shown) + lines - 1) / lines // as many as there are in a line of a row
	for _, k := range shown {
		f := rows(p.methods, max(210, 600/across))
		f.Name, f.Title = "dots-"+strings.ReplaceAll(q.Name, " ", "-"), panels[k].Name
		f.X = chart.Axis{Title: q.Axis(), Percent: q.Unit == "%", Whole: q.Unit == "1", Bounds: q.Range}
		if len(row)%across > 0 { // the names and the title at the left are theirs too
			clear(f.Y.Names)
			f.X.Title = ""
		}
		dot, line := chart.Series{Name: "mean", Mark: chart.Dots, Opacity: 1}, chart.Series{Name: "interval", Of: "mean", Mark: chart.Segments}
		for i, of := range p.of {
			at := of[k]
			estimate(&dot, &line, float64(len(p.of)-1-i), at.mean, at.mean-at.half, at.mean+at.half, q.Range, p.methods[i]+": "+at.text)
		}
		if base >= 0 {
			f.Series = append(f.Series, down(p.of[base][k].mean, len(p.of), baseline+": "+p.of[base][k].text))
		}
		f.Series = append(f.Series, line, dot)
		row = append(row, f)
	}
	if base >= 0 {
		note(row[0], "line: %s", baseline)
	}
	for _, k := range without {
		note(row[0], "left out, without a value: %s", panels[k].Name)
	}
	for _, says := range strings.Split(p.Note, "; ") {
		if !strings.HasPrefix(says, "bold") {
			note(row[0], "%s", says)
		}
	}
	return row, nil
}

// rows returns a figure with a row for each name, the first on top. In lower rows, browsers would hide every second name.
func rows(names []string, width int) *chart.Figure {
	f := &chart.Figure{Point: "method", Width: width, Height: max(80, 17*len(names)), Guides: true}
	f.Y.Names = backward(names)
	return f
}

// estimate adds a dot in row y, and its interval if there is one, as far as the quantity goes. The dot alone has a tip, so that many
// rows are not too heavy for a notebook.
func estimate(dot, line *chart.Series, y, at, lo, hi float64, bounds [2]float64, tip string) {
	if !finite(at) {
		return
	}
	dot.X, dot.Y, dot.Tip = append(dot.X, at), append(dot.Y, y), append(dot.Tip, tip)
	if bounds[0] < bounds[1] {
		lo, hi = max(lo, min(at, bounds[0])), min(hi, max(at, bounds[1]))
	}
	if lo < hi {
		line.Cell(lo, hi, y, y)
	}
}

// down is a line down all rows of a figure.
func down(x float64, rows int, tip string) chart.Series {
	s := chart.Series{Name: "reference", Mark: chart.Segments, Ink: true, Opacity: 0.5}
	s.Cell(x, x, -0.5, float64(rows)-0.5, tip)
	return s
}
