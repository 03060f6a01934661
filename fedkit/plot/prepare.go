package plot

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsonBytes is how many bytes the data of a row of figures take at most in its Vega-Lite specification.
const jsonBytes = 32_000

// Sizes in CSS pixels, and opacities, that both pictures share.
const (
	lineWidth   = 2.0
	bandOpacity = 0.18
	otherwise   = 0.1 // opacity of what the legend has not picked out
	dotSide     = 6.0 // diameter of a dot without a size
	fewPoints   = 30  // lines with no more points than this show them
)

var targetDash = []float64{4, 4}

// sheet is a row made ready for drawing: finite and thinned-out points, ranges, ticks and colours chosen. Both pictures
// are drawn from it and so show the same.
type sheet struct {
	name   string
	panels []*panel
	order  []style // of the series' names, in order of appearance
	legend []style // the same, or empty if a legend would say nothing
}

// panel is one figure of a sheet.
type panel struct {
	*Figure
	x, y   scale
	series []series
}

// series is a Series whose columns all have the same length and hold finite, rounded numbers.
type series struct {
	Series
	cols []column
}

// column is a named slice of numbers: "x", "y", "lo", …
type column struct {
	name string
	data *[]float64
}

// prepare makes the row ready for drawing, or says what is missing.
func (r Row) prepare() (*sheet, error) {
	s := &sheet{}
	named := false
	for _, f := range r {
		if f == nil {
			return nil, fmt.Errorf("plot: a figure is nil")
		}
		named = named || f.X.Names != nil || f.Y.Names != nil
		for _, t := range f.Series {
			if s.style(t.Name) == nil {
				s.order = append(s.order, t.style(len(s.order)))
			}
		}
	}
	for _, f := range r {
		p, err := f.prepare(budget(r))
		if err != nil {
			return nil, fmt.Errorf("plot: %s: %w", f.fileName(), err)
		}
		s.panels = append(s.panels, p)
	}
	if len(s.panels) == 0 {
		return nil, fmt.Errorf("plot: no figure given")
	}
	s.name = r[0].fileName()
	if len(s.order) > 1 && !named {
		s.legend = s.order
	}
	return s, nil
}

// style returns the style of a name, nil if it has none yet.
func (s *sheet) style(name string) *style {
	for i := range s.order {
		if s.order[i].name == name {
			return &s.order[i]
		}
	}
	return nil
}

// columns is how many entries the legend has in a line: what fits over the figures.
func (s *sheet) columns() int {
	width, longest := 0, 1
	for _, p := range s.panels {
		width += p.Width
	}
	for _, l := range s.legend {
		longest = max(longest, utf8.RuneCountInString(l.name))
	}
	return min(max(1, width/(6*longest+44)), max(1, len(s.legend)))
}

// budget returns how many points a series of the row may keep, so that all together fit into jsonBytes.
func budget(r Row) int {
	most := 2
	size := func(points int) (bytes int) {
		for _, f := range r {
			for _, s := range f.Series {
				bytes += min(points, len(s.X)) * s.width()
				most = max(most, len(s.X))
			}
		}
		return bytes
	}
	if size(math.MaxInt32) <= jsonBytes {
		return most
	}
	// The smallest number of points that is too many, less one.
	return max(2, sort.Search(most, func(points int) bool { return size(points) > jsonBytes })-1)
}

// width estimates how many bytes of JSON a point takes, from the first, the last and a few points in between.
func (s *Series) width() int {
	bytes, points := 0, 0
	for _, i := range thin(indices(len(s.X)), 20) {
		points++
		for _, c := range s.columns() {
			if i < len(*c.data) {
				bytes += len(strconv.FormatFloat(round5((*c.data)[i]), 'g', -1, 64)) + 1
			}
		}
		if i < len(s.Tip) {
			bytes += len(s.Tip[i]) + 3
		}
		if s.Mark == Images && i < len(s.Images) {
			bytes += len(dataURL(s.Images[i])) + 3
		}
	}
	return bytes/max(1, points) + 1
}

func (f *Figure) prepare(points int) (*panel, error) {
	p := &panel{Figure: &Figure{}}
	*p.Figure = *f
	if f.Width <= 0 {
		p.Width = 560
	}
	if f.Height <= 0 {
		p.Height = 320
	}
	p.Targets = slices.DeleteFunc(slices.Clone(f.Targets), func(t float64) bool { return !f.Y.holds(t) })
	bands := slices.ContainsFunc(f.Series, func(s Series) bool { return s.Mark == Line && len(s.columns()) == 4 })
	for _, s := range f.Series {
		if bands && s.Mark == Line && len(s.columns()) == 2 { // all lines alike: one layer, one tooltip
			s.Lo, s.Hi = s.Y, s.Y
		}
		if c := s.clean(f.X, f.Y, points); len(c.X) > 0 {
			p.series = append(p.series, c)
		}
	}
	if len(p.series) == 0 {
		return nil, errEmpty
	}
	p.x, p.y = newScale(f.X), newScale(f.Y)
	for _, s := range p.series {
		for _, c := range s.cols {
			switch c.name {
			case "x", "x2":
				p.x.cover(*c.data, s.margin())
			case "y", "y2", "lo", "hi":
				p.y.cover(*c.data, s.margin())
			}
		}
	}
	p.y.cover(p.Targets, 0)
	p.x.finish(p.Width/70, p.Width/45)
	p.y.finish(p.Height/45, p.Height/22)
	return p, nil
}

// columns lists the numbers the series has to have, and those that it has beyond them.
func (s *Series) columns() []column {
	c := []column{{"x", &s.X}, {"y", &s.Y}}
	switch {
	case s.Mark == Line && s.Lo != nil && s.Hi != nil:
		c = append(c, column{"lo", &s.Lo}, column{"hi", &s.Hi})
	case s.Mark == Dots && s.Size != nil:
		c = append(c, column{"n", &s.Size})
	case s.Mark == Cells:
		c = append(c, column{"x2", &s.X2}, column{"y2", &s.Y2})
	}
	return c
}

// margin is the room that whole-numbered positions need on either side.
func (s *Series) margin() float64 {
	switch {
	case s.Mark == Dots && s.Size != nil:
		return 0.7
	case s.Mark == Images:
		return 0.5
	}
	return 0
}

// clean returns a copy that holds at most so many points, all of which can be drawn.
func (s Series) clean(x, y Axis, points int) series {
	if s.Mark < Line || s.Mark > Images {
		return series{}
	}
	if !(s.Opacity > 0 && s.Opacity <= 1) {
		s.Opacity = 1
		if s.Mark == Dots {
			s.Opacity = 0.75
		}
	}
	from := s.columns()
	n := len(s.X)
	for _, c := range from {
		n = min(n, len(*c.data))
	}
	if s.Mark == Images {
		n = min(n, len(s.Images))
	}
	var keep []int
	for i := range n {
		good := x.holds(s.X[i]) && y.holds(s.Y[i]) && (s.Mark != Images || s.Images[i] != nil && !s.Images[i].Bounds().Empty())
		for _, c := range from {
			v := (*c.data)[i]
			switch c.name {
			case "lo", "hi": // a point without a band stays, see below
			case "x2":
				good = good && x.holds(v)
			case "y2":
				good = good && y.holds(v)
			case "n":
				good = good && finite(v) && v > 0
			}
		}
		if good {
			keep = append(keep, i)
		}
	}
	keep = thin(keep, points)

	c := series{Series: s}
	tips, images := c.Tip, c.Images
	c.Tip, c.Images = nil, nil
	c.cols = c.columns()
	for k, col := range c.cols {
		src, dst := *from[k].data, make([]float64, len(keep))
		for j, i := range keep {
			v := src[i]
			if (col.name == "lo" || col.name == "hi") && !y.holds(v) {
				v = s.Y[i]
			}
			dst[j] = round5(v)
		}
		*col.data = dst
	}
	if len(tips) >= n && n > 0 {
		for _, i := range keep {
			c.Tip = append(c.Tip, tips[i])
		}
	}
	if s.Mark == Images {
		for _, i := range keep {
			c.Images = append(c.Images, images[i])
		}
	}
	return c
}

// holds says whether a value can be drawn on the axis. Beyond some bounds, ticks would no longer be numbers.
func (a Axis) holds(v float64) bool {
	switch most := math.Abs(v); {
	case !finite(v) || most > 1e300 || a.Whole && most > 1e9:
		return false
	case a.Log:
		return v > 1e-300
	}
	return true
}

// fileName is Name, or what is left of Title when it is made fit for a file.
func (f *Figure) fileName() string {
	name := f.Name
	if name == "" {
		name = f.Title
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	if name = strings.Trim(strings.Join(words, "-"), ".-"); name == "" {
		return "figure"
	}
	return name
}

// bubbles returns the largest size in the figure and the diameter of its dot: about what keeps two neighbours apart.
func (p *panel) bubbles() (most, side float64) {
	for _, s := range p.series {
		if s.Mark == Dots && s.Size != nil {
			most = max(most, slices.Max(s.Size))
		}
	}
	across, up := float64(p.Width)/(p.x.hi-p.x.lo), float64(p.Height)/(p.y.hi-p.y.lo)
	return most, min(36, 1.25*min(across, up))
}

// few says whether lines have so few points that each is marked.
func few(all []series) bool {
	return !slices.ContainsFunc(all, func(s series) bool { return len(s.X) > fewPoints })
}
