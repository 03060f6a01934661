package chart

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit/internal/display"
)

// Row is several figures side by side in one output, with one legend: accuracy and loss, say. What is of
// the same has one color, axes of one title have one range, and values of one thing have one scale. More than four, or more than
// the cell has room for, go on in lines of their own, all about as long. Its file is named after its first figure. A row cannot
// be drawn if one of its figures cannot.
type Row []*Figure

// Show draws the row as one output of the notebook cell. Outside a notebook it writes an HTML file into Dir and prints
// one line that says where. If the row cannot be drawn, its error is shown instead.
func (r Row) Show() {
	var d Display
	d.output.Report(d.Show(r, true))
}

// Err returns why the row cannot be drawn, nil if it can: the error that one of its figures carries, or no figure, or
// one without a single point to draw.
func (r Row) Err() error { return r.draw(func(*sheet) error { return nil }) }

// VegaLite returns the row as a Vega-Lite 5 specification made of maps, slices, strings, booleans and finite float64
// only, so that both encoding/json and GoNB's encoding/gob take it; nil if the row cannot be drawn.
func (r Row) VegaLite() (spec map[string]any) {
	_ = r.draw(func(s *sheet) error { spec = s.vegaLite(); return nil }) // Err has it
	return spec
}

// Save writes the row to a file, atomically: ".html" for a page that draws it with the scripts of Vega, ".json" for the Vega-Lite
// specification, ".png" (two pixels for each CSS pixel) or ".svg" for a picture on white. Pictures need Python with vl-convert
// (pip install vl-convert-python): that of the variable FEDKIT_PYTHON, else python3. The kernel has one.
func (r Row) Save(path string) error {
	return r.draw(func(s *sheet) error { return s.save(path) })
}

// draw makes the row ready and hands it to paint.
func (r Row) draw(paint func(*sheet) error) error {
	return display.Try(func() error {
		s, err := r.prepare()
		if err != nil {
			return err
		}
		return paint(s)
	})
}

// ErrorPrefix begins the text that says why a chart could not be drawn, so that scripts can find it.
const ErrorPrefix = display.ErrorPrefix

var errEmpty = errors.New("no series has a point with finite values")

// Failed returns a figure that carries the error: Show displays it, and Err and Save return it.
func Failed(err error) *Figure { return &Figure{err: err} }

// Make returns the figure that build fills in. If build fails or panics, the figure carries the error, with what before
// it: "plot: accuracy: no history given". For tables, there is table.Make.
func Make(what string, build func(*Figure) error) *Figure {
	f := new(Figure)
	if err := display.Try(func() error { return build(f) }); err != nil {
		f.err = fmt.Errorf("%s: %w", what, err)
	}
	return f
}

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
