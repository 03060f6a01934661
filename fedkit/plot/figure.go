// Package plot draws what the clients of a federation hold and what happened in federated runs: labels, sizes and pictures
// by client, curves over rounds, distributions over clients, clusters, a table that compares runs, and a watcher that
// draws while a run goes on.
//
// In a notebook every figure is one output with three forms of the same picture: Vega-Lite 5 (interactive in
// JupyterLab: tooltips, and a click in the legend picks out a series), PNG (wherever notebooks are only shown) and a
// line of text. Outside a notebook the same call writes a PNG file and says where; see Dir.
//
//	data   Labels, Sizes, Samples
//	runs   Accuracy, Loss, ClientAccuracy, Clusters, Heat, Participants, Table
//	any    Curves, Histogram
//
// are what most cells need. Anything else is a Figure.
package plot

import "image"

// Figure is a picture with two axes and any number of series. Its zero value is an empty figure, which is not shown but
// reported as an error.
//
//	f := plot.Figure{
//		Title:   "Time to accuracy",
//		X:       plot.Axis{Title: "simulated time (s)"},
//		Y:       plot.Axis{Title: "test accuracy", Percent: true},
//		Targets: []float64{0.9},
//		Series:  []plot.Series{{Name: "FedAvg", X: seconds, Y: accuracy}},
//	}
//	f.Show()
type Figure struct {
	Name  string // of the PNG file, without ".png"; made from Title unless set
	Title string
	Note  string // small print under the title: how to read the picture

	X, Y    Axis
	Point   string    // what a point is, in its tooltip, beside Series.Tip: "client"
	Area    string    // what Series.Size counts, in the tooltip: "training rows"
	Targets []float64 // dashed lines across the figure at these values of Y
	Series  []Series  // drawn in this order, later ones on top

	Width, Height int // of the area inside the axes, in CSS pixels; default 560 × 320
}

// Axis is one of a figure's two axes. The range follows from the data.
type Axis struct {
	Title   string
	Log     bool     // logarithmic; values that are not positive are left out
	Percent bool     // values are shares in [0, 1] and written as percentages
	Whole   bool     // ticks at whole numbers only: rounds, clients, labels
	Names   []string // of the positions 0, 1, 2, …; nil for an axis of numbers
}

// Mark is what a series is drawn with.
type Mark int

const (
	Line   Mark = iota // a line through (X, Y), with a band from Lo to Hi where these are set
	Dots               // a dot at each (X, Y), its area in proportion to Size where that is set
	Cells              // a filled rectangle with the corners (X, Y) and (X2, Y2)
	Images             // a picture centred on each (X, Y), as large as nine tenths of a unit of both axes allow
)

// Series is one set of points. Series with the same Name share a colour and a line in the legend. All slices that are
// set go with X, element by element. A point with a value that is not finite is left out; so are points in excess of
// what keeps a notebook light (about 32 kB of numbers a figure; the rest are evenly spread, first and last included).
type Series struct {
	Name    string
	Mark    Mark // default Line
	X, Y    []float64
	Lo, Hi  []float64     // Line: the band around Y
	Size    []float64     // Dots: the area; values that are not positive are left out
	X2, Y2  []float64     // Cells: the other corner
	Images  []image.Image // Images: the pictures
	Tip     []string      // which one each point is, for its tooltip: the 7 of client 7
	Opacity float64       // default 1 for lines and cells, 0.75 for dots
	Shade   float64       // in (0, 1]: a place on the scale from light to dark, instead of a colour of its own
}

// Show draws the figure as one output of the notebook cell; outside a notebook it writes the file Name + ".png" into
// Dir and prints one line that says where. A figure without a single point to draw is an error, and so is a notebook
// or a file that cannot be written.
func (f *Figure) Show() error { return Row{f}.Show() }

// PNG returns the figure as a PNG picture, with two picture elements for a CSS pixel, or fewer where the file would be
// larger than 40 kB.
func (f *Figure) PNG() ([]byte, error) { return Row{f}.PNG() }

// VegaLite returns the figure as a Vega-Lite 5 specification made of maps, slices, strings, booleans and finite
// float64 only, so that both encoding/json and GoNB's encoding/gob take it.
func (f *Figure) VegaLite() map[string]any { return Row{f}.VegaLite() }

// Save writes the figure to a file: ".png" for a picture, ".json" for the Vega-Lite specification. The file is complete
// or not there at all.
func (f *Figure) Save(path string) error { return Row{f}.Save(path) }
