package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"
)

// shades is how many steps of color a scale of values has.
const shades = 50

// bar is a scale of values by color. All figures of a row share it that have values of the same thing.
type bar struct {
	scale
	of string
}

// shaded returns the row with a place on a color bar for each cell that has a value. The figures stay as they are.
func (r Row) shaded() (all Row, bars []*bar) {
	var valued []*Series
	for _, f := range r {
		own := *f
		own.Series = slices.Clone(f.Series)
		all = append(all, &own)
		for i := range own.Series {
			if s := &own.Series[i]; s.Mark == Cells && s.Values != nil {
				at := slices.IndexFunc(bars, func(b *bar) bool { return b.of == s.Of })
				if at < 0 {
					at, bars = len(bars), append(bars, &bar{newScale(Axis{}), s.Of})
				}
				s.bar, valued = bars[at], append(valued, s)
				s.bar.Include = append(s.bar.Include, s.Covers...)
				s.bar.cover(slices.DeleteFunc(slices.Clone(s.Values), func(v float64) bool { return !s.bar.holds(v) }), 0)
			}
		}
	}
	bars = slices.DeleteFunc(bars, func(b *bar) bool { return !b.choose() })
	for _, s := range valued {
		s.place = make([]float64, len(s.Values))
		for i, v := range s.Values {
			if s.place[i] = math.NaN(); s.bar.holds(v) {
				s.place[i] = math.Round(shades * s.bar.norm(v))
			}
		}
	}
	if all.budget() < everyPoint {
		for _, f := range all {
			before := f.Series
			f.Series = nil
			for _, s := range before {
				f.Series = append(f.Series, s.grid()...)
			}
		}
	}
	return all, bars
}

// choose chooses the scale, even or even in logarithms, and its ticks. It reports whether there is a value.
func (b *bar) choose() bool {
	if b.lo > b.hi {
		return false
	}
	b.Percent = shares(b.of, []float64{b.lo, b.hi}, -1)
	b.coverOwn()
	b.Log = b.lo > 0 && b.hi > 30*b.lo
	b.finish(5, 5, 5)
	return true
}

// signed reports whether the scale has both signs. Then it is clear at 0, which is white on a page, and black in the dark.
func (b *bar) signed() bool { return b.lo < 0 && b.hi > 0 }

// color is that of a place in [0, shades].
func (b *bar) color(place float64) color.NRGBA {
	if !b.signed() {
		return along(shade, place/shades)
	}
	v, c := b.lo+(b.hi-b.lo)*place/shades, above
	if v < 0 {
		c = below
	}
	c.A = uint8(255*min(1, math.Abs(v)/max(-b.lo, b.hi)) + 0.5)
	return c
}

// fill gives cells the colors of their places, and the figure a color bar.
func (s *sheet) fill(b *bar) object {
	stops := []float64{0, shades / 5, 2 * shades / 5, 3 * shades / 5, 4 * shades / 5, shades}
	if b.signed() {
		zero := shades * b.norm(0)
		stops = []float64{0, round5(zero - 0.01), round5(zero + 0.01), shades}
	}
	colors := each(stops, func(at float64) any {
		c := b.color(at)
		return fmt.Sprintf("rgba(%d, %d, %d, %.3g)", c.R, c.G, c.B, float64(c.A)/255)
	})
	ticks := each(b.ticks, func(t float64) float64 { return round5(shades * b.norm(t)) })
	orient := "top"
	if len(s.panels) > 1 {
		orient = "bottom"
	}
	return object{"field": "v", "type": "quantitative", "title": b.of,
		"scale": object{"domain": list(stops), "range": colors, "interpolate": "rgb"},
		"legend": object{
			"orient": orient, "direction": "horizontal", "gradientLength": 200.0, "gradientThickness": 10.0,
			"values": list(ticks), "labelExpr": fmt.Sprintf("%s[indexof(%s, datum.value)]", expression(each(b.ticks, b.label)), numerals(ticks)),
		}}
}
