package chart

import "image"

// Figure is a chart with two axes and any number of series. Its zero value is an empty figure, which cannot be drawn.
type Figure struct {
	Name  string // of the file, without ".html"; made from Title unless set
	Title string // above the figure; default none
	Note  string // small print under the title: how to read the figure
	Alt   string // what it shows, for those who do not see it; default made from the series

	X, Y    Axis      // the horizontal and the vertical one
	Point   string    // what a point is, in its tooltip, beside Series.Tip: "client"
	Area    string    // what Series.Size counts, in the tooltip: "training rows"
	Targets []float64 // dashed lines across the figure at these values of Y
	Guides  bool      // faint lines across the figure at the names of Y

	// Series are drawn in this order, later ones on top. Names of a few lines stand at their ends if there is room, else in a legend.
	// Lines that coincide have dashes, and the note names them.
	Series []Series
	Legend bool // show a legend although an axis has Names, which mostly replace it

	Width, Height int // of the area inside the axes, in CSS pixels; default 560 × 320. In a narrow cell it is less wide

	err   error    // why it cannot be drawn
	picks []choice // what the reader chooses
	heads []head   // title and note by option
	brush bool     // a range of its x axis can be picked
}

// Axis is one of a figure's two axes. The range follows from the data, and from Include.
type Axis struct {
	Title   string    // beside the axis, with the unit: "simulated time (s)"; axes of one title have one range in a row of figures
	Log     bool      // logarithmic; values that are not positive are left out
	Percent bool      // values are shares, or differences of shares, and written as percentages
	Whole   bool      // ticks at whole numbers only: rounds, clients, labels
	Names   []string  // of the positions 0, 1, 2, …, "" for no tick; nil for an axis of numbers
	Hidden  bool      // no line, ticks and labels
	Include []float64 // values that the range includes beside the data, so that figures share one range

	// Bounds are the least and the greatest value that the quantity can have: [0, 1] for an accuracy, [0, +Inf] for a loss. Bands
	// and the axis end there, unless a point lies beyond. Default: [−1, 1] if Percent is set, else none.
	Bounds [2]float64
}

// Mark is what a series is drawn with.
type Mark int

const (
	Line     Mark = iota // a line through (X, Y), with a band from Lo to Hi if these are set; on another one it has dashes
	Dots                 // a dot at each (X, Y), its area in proportion to Size if that is set
	Cells                // a filled rectangle with the corners (X, Y) and (X2, Y2)
	Images               // an image centered on each (X, Y), as large as nine tenths of a unit of both axes allow; or in the rectangle to (X2, Y2)
	Segments             // a straight line from (X, Y) to (X2, Y2)
)

// Series is one set of points. Series with the same Name share a color and a line in the legend. All slices that are set go with
// X, element by element. A point with a value that is not finite is left out; the note counts those of lines and dots. Long series
// are downsampled to keep a notebook light, about 30 kB of JSON for a row of figures, but to no fewer than some 24 points each: of
// each stretch of equally many points, the first and the last stay, with those that have its least and greatest values. So a line
// keeps every peak and gap. The figure's note says how many points are left. A legend has 100 names at most; the note says so too.
type Series struct {
	Name    string        // in the legend, in the order of numbers in them, and in tooltips; series of one name have one color
	Of      string        // what the series is of, which has one color, or one scale of Values, in all figures of a row; default Name
	Color   int           // its place in the palette, 1 for the first color, whatever else the figure has; default the next one that is free
	Like    string        // the name of a series before it that it goes with: its color, but another shade and with dashes
	Mark    Mark          // default Line
	X, Y    []float64     // of each point; one that is not finite is left out
	Lo, Hi  []float64     // Line: the band around Y
	Size    []float64     // Dots: the area; values that are not positive are left out
	X2, Y2  []float64     // Cells, Segments, Images: the other corner or end
	Images  []image.Image // Images: one for each point
	Values  []float64     // Cells: one for each, which its color shows; a color bar says how. A grid that is too heavy becomes an image, without tooltips
	Covers  []float64     // values that the scale of Values includes beside those of all figures in a row that are of the same (see Of)
	Text    []string      // Cells: what is written in each
	Tip     []string      // which one each point is, for its tooltip: the 7 of client 7
	Opacity float64       // default 0.75 for dots, 1 for all else; 0.6 if Thin
	Thin    bool          // Line, Dots: thinner, smaller and under the others: one run beside the mean of several
	Shade   float64       // in (0, 1]: a place on the scale from light to dark, instead of a color of its own
	Ink     bool          // in the color of text and without a line in the legend: what holds a figure together, such as borders

	bar   *bar      // the scale of Values
	place []float64 // that of each value on it, in [0, shades]
	when  []option  // that are chosen while it is drawn; always if there is none
}

// Titled gives the figure a title that says what it shows, and returns it. The axes say the quantities.
//
//	plot.Accuracy(h...).Titled("FedProx needs fewer rounds").Show()
func (f *Figure) Titled(title string) *Figure {
	f.Title = title
	return f
}

// Cell adds a rectangle to a series of Cells, or a line to one of Segments.
func (s *Series) Cell(x, x2, y, y2 float64, tip ...string) {
	s.X, s.X2 = append(s.X, x), append(s.X2, x2)
	s.Y, s.Y2 = append(s.Y, y), append(s.Y2, y2)
	s.Tip = append(s.Tip, tip...)
}

// Show draws the figure; see Row.Show.
func (f *Figure) Show() { Row{f}.Show() }

// Err returns why the figure cannot be drawn, nil if it can.
func (f *Figure) Err() error { return Row{f}.Err() }

// VegaLite returns the figure as a Vega-Lite 5 specification; see Row.VegaLite.
func (f *Figure) VegaLite() map[string]any { return Row{f}.VegaLite() }

// Save writes the figure to a file; see Row.Save.
func (f *Figure) Save(path string) error { return Row{f}.Save(path) }

// Fits reports whether all points of the figure are drawn, because its data are light enough for a notebook.
func (f *Figure) Fits() bool {
	if f == nil {
		return true
	}
	r, _ := Row{f}.shaded()
	return r.budget() == everyPoint
}
