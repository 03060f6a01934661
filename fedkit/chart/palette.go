package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"sync/atomic"
)

// base are the colors of series. The first three are of the palette of M. Okabe and K. Ito, "Color Universal Design" (2008);
// simulated annealing over 1,355 colors found the others, and their order. All have a contrast (WCAG 2) of at least 3 to white
// and to #111111, the background of JupyterLab's dark theme. Any two neighbors differ by at least 15 in CIEDE2000, for all
// kinds of color vision: see TestPalette. What differs less is farther apart, where lines have other dashes.
var base = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0x78, 0x69, 0xff, 0xff}, // violet
	{0x87, 0x5a, 0x2d, 0xff}, // brown
	{0x96, 0x96, 0x4b, 0xff}, // olive
	{0xb4, 0x1e, 0x78, 0xff}, // magenta
	{0xa5, 0x87, 0xc3, 0xff}, // lavender
	{0xc3, 0x0f, 0x0f, 0xff}, // red
	{0xff, 0x4b, 0x87, 0xff}, // pink
	{0x0f, 0x78, 0x5a, 0xff}, // pine
	{0x1e, 0x96, 0xff, 0xff}, // azure
	{0x1e, 0x5a, 0xd2, 0xff}, // royal blue
	{0x87, 0x87, 0x87, 0xff}, // gray
	{0x4b, 0x96, 0x1e, 0xff}, // leaf
	{0x87, 0x5a, 0x87, 0xff}, // plum
}

// dashes are those of eight series each.
var dashes = [][]float64{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// again are the marks in cells of names that share their color with one name before them, or with more.
var again = []string{"▲", "+"}

var (
	ink   = color.NRGBA{0x33, 0x33, 0x33, 0xff} // text
	faint = color.NRGBA{0x75, 0x75, 0x75, 0xff} // notes and target lines
	white = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	black = color.NRGBA{0x00, 0x00, 0x00, 0xff}
)

// style is how a series looks.
type style struct {
	name  string
	color color.NRGBA
	dash  []float64 // in CSS pixels; nil for a solid line
	mark  Mark      // in the legend
	again int       // names before it that have its color
}

// shade runs from light to dark: the sequential palette YlGnBu of C. Brewer's ColorBrewer, without its two palest colors,
// which are too near to white, and its darkest one, which is too near to black.
var shade = []color.NRGBA{
	{0xc7, 0xe9, 0xb4, 0xff},
	{0x7f, 0xcd, 0xbb, 0xff},
	{0x41, 0xb6, 0xc4, 0xff},
	{0x1d, 0x91, 0xc0, 0xff},
	{0x22, 0x5e, 0xa8, 0xff},
	{0x25, 0x34, 0x94, 0xff},
}

// above and below are those of the largest values of either sign, on a scale that has both.
var above, below = color.NRGBA{0x21, 0x66, 0xac, 0xff}, color.NRGBA{0xb2, 0x18, 0x2b, 0xff}

// style is the style of the i-th name of a sheet: ink, a shade, or the palette, with other dashes after every eight and marks after
// every sixteen.
func (s *Series) style(i int) style {
	st := style{name: s.Name, mark: s.Mark, color: base[i%len(base)], dash: dashes[i/8%len(dashes)], again: i / len(base)}
	switch {
	case s.Ink:
		st.color, st.dash, st.again = ink, nil, 0
	case s.Shade > 0:
		st.color, st.dash, st.again = along(shade, s.Shade), nil, 0
	}
	return st
}

// along is the color at a place in (0, 1] of a palette.
func along(palette []color.NRGBA, place float64) color.NRGBA {
	at := min(place, 1) * float64(len(palette)-1)
	low := min(int(at), len(palette)-2)
	return mix(palette[low], palette[low+1], at-float64(low))
}

// companion is the style of a series that goes with one of this style: lighter if the color is a dark one, or else darker.
func (s style) companion(name string) style {
	to, t := white, 0.22
	if luminance(s.color) > 0.16 {
		to, t = black, 0.23
	}
	s.name, s.color, s.dash = name, mix(s.color, to, t), []float64{3, 2}
	return s
}

// over is the color of text in a cell: that of text elsewhere if the page shows through.
func (s *sheet) over(t series, i int) color.NRGBA {
	var c color.NRGBA
	through := t.Opacity < 0.5
	if t.bar == nil {
		c = s.style[t.Name].color
	} else {
		c = t.bar.color(t.place[i])
		through = c.A < 180
	}
	switch {
	case through || c == ink: // what is of ink is faint
		return ink
	case luminance(c) < 0.22:
		return white
	}
	return black
}

// luminance is the relative luminance of WCAG 2: 0 for black, 1 for white.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// mix returns (1−t)·a + t·b.
func mix(a, b color.NRGBA, t float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8((1-t)*float64(x) + t*float64(y) + 0.5) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 0xff}
}

// paint is the color for a browser: that of the page's text for ink.
func (s *style) paint() any { return paint(s.color) }

func paint(c color.NRGBA) string {
	if c == ink {
		return own
	}
	return hex(c)
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Colors gives series of these names the first colors, in this order, in all figures that are drawn from now on and have one of them,
// whether or not they have all: a method then has one color throughout a notebook. Names that are not listed get those that follow.
// In a notebook, a function whose name begins with init_ is called in every later cell:
//
//	func init_colors() { chart.Colors("FedAvg", "FedCluster", "FedSC") }
func Colors(names ...string) { reserved.Store(&names) }

var reserved atomic.Pointer[[]string]

// reservedPlaces returns the places in the palette of the names given to Colors, none if no series has one of them.
func reservedPlaces(all []Series) map[string]int {
	places, names := map[string]int{}, reserved.Load()
	if names == nil || !slices.ContainsFunc(all, func(s Series) bool { return slices.Contains(*names, cmp.Or(s.Of, s.Name)) }) {
		return places
	}
	for _, name := range *names {
		if _, twice := places[name]; !twice {
			places[name] = len(places)
		}
	}
	return places
}
