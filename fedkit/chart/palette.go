package chart

import (
	"fmt"
	"image/color"
	"math"
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

// style is the style of the i-th name of a sheet: ink, a shade, or the palette, with other dashes after every eight.
func (s *Series) style(i int) style {
	st := style{name: s.Name, mark: s.Mark, color: base[i%len(base)], dash: dashes[i/8%len(dashes)]}
	switch {
	case s.Ink:
		st.color, st.dash = ink, nil
	case s.Shade > 0:
		st.color, st.dash = along(shade, s.Shade), nil
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

// over is the color of text on it: that of text elsewhere on what is of ink, which is faint.
func (s style) over() color.NRGBA {
	switch {
	case s.color == ink:
		return ink
	case luminance(s.color) < 0.22:
		return white
	}
	return black
}

// over is the color of text in a cell.
func (s *sheet) over(t series, i int) color.NRGBA {
	switch {
	case t.bar == nil && t.Opacity < 0.5: // the page shows through
		return ink
	case t.bar == nil:
		return s.style(t.Name).over()
	case t.bar.signed(): // both of its colors are dark
		if t.bar.color(t.place[i]).A < 180 {
			return ink
		}
		return white
	}
	return style{color: t.bar.onWhite(t.place[i])}.over()
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

func faded(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(255*opacity + 0.5)
	return c
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
