package chart

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
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

// mostPixels is how many cells the image of a grid may have in a row or column.
const mostPixels = 2000

// grid places the cells on a color bar as an image, one pixel each, over one cell, which the bar is of. Those that are not of one size
// and side by side stay cells.
func (s Series) grid() []Series {
	same := []Series{s}
	if s.bar == nil {
		return same
	}
	s = s.at(slices.DeleteFunc(indices(s.complete()), func(i int) bool { return !finite(s.place[i]) }))
	if len(s.X) == 0 {
		return same
	}
	left, right, low, top := slices.Min(s.X), slices.Max(s.X), slices.Min(s.Y), slices.Max(s.Y)
	wide, high := pitch(s.X, s.X2[0]-s.X[0]), pitch(s.Y, s.Y2[0]-s.Y[0])
	if !(wide > 0 && high > 0 && (right-left)/wide <= mostPixels && (top-low)/high <= mostPixels) {
		return same
	}
	palette := color.Palette{color.Transparent}
	for k := range shades + 1 {
		palette = append(palette, s.bar.color(float64(k)))
	}
	aligned := true
	whole := func(v float64) int {
		n := math.Round(v)
		aligned = aligned && math.Abs(v-n) < 1e-6
		return int(n)
	}
	img := image.NewPaletted(image.Rect(0, 0, whole((right-left)/wide)+1, whole((top-low)/high)+1), palette)
	for i, place := range s.place {
		img.SetColorIndex(whole((s.X[i]-left)/wide), whole((top-s.Y[i])/high), uint8(place+1))
	}
	if !aligned {
		return same
	}
	x, y := (wide-(s.X2[0]-s.X[0]))/2, (high-(s.Y2[0]-s.Y[0]))/2 // half the gaps between cells
	key := s.at([]int{0})
	key.Tip = nil
	return []Series{key, {Name: "cells", Mark: Images, Ink: true, when: s.when, Images: []image.Image{img},
		X: []float64{left - x}, X2: []float64{right - x + wide}, Y: []float64{low - y}, Y2: []float64{top - y + high}}}
}

// pitch is from one row or column of cells to the next: their size, or a little more if there are gaps.
func pitch(at []float64, size float64) float64 {
	at = slices.Compact(slices.Sorted(slices.Values(at)))
	least := math.Inf(1)
	for i := 1; i < len(at); i++ {
		least = min(least, at[i]-at[i-1])
	}
	if least > size && least < 1.25*size {
		return least
	}
	return size
}

// dataURL is the image as a PNG file in a URL, which needs no network; "" if it cannot be written.
func dataURL(img image.Image) string {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, indexed(img)); err != nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// indexed is the same image with a palette, which makes small files, if it has at most 256 colors.
func indexed(img image.Image) image.Image {
	bounds := img.Bounds()
	index := map[color.NRGBA]uint8{}
	out := image.NewPaletted(bounds, nil)
	for i := range out.Pix {
		c := color.NRGBAModel.Convert(img.At(bounds.Min.X+i%bounds.Dx(), bounds.Min.Y+i/bounds.Dx())).(color.NRGBA)
		k, known := index[c]
		if !known {
			if len(index) == 256 {
				return img
			}
			k = uint8(len(index))
			index[c], out.Palette = k, append(out.Palette, c)
		}
		out.Pix[i] = k
	}
	return out
}
