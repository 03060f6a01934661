package chart

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
)

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
	return []Series{key, {Name: "cells", Mark: Images, Ink: true, Images: []image.Image{img},
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
