package chart

import (
	"image"
	"image/color"
	"math"
	"slices"
)

// mostCells is how many cells a raster has at most; each takes some 40 bytes of JSON, and there may be several in a row.
const mostCells = 150

// mostPixels is how many cells the image of a raster may have in a row or column.
const mostPixels = 2000

// Raster is Shades, in finer steps, for cells that are all of one size and side by side, as those of a matrix are. More than 150
// of them become one image, which has no tooltips, over one cell for each step. A scale with both signs has warm colors below 0
// and cold ones above. Covers are values that the scale includes beside the data, so that figures share one scale.
func Raster(s Series, values []float64, covers ...float64) []Series {
	steps := s.shades(values, 20, scale.side, covers...)
	points := 0
	for _, t := range steps {
		points += len(t.X)
	}
	if points <= mostCells {
		return steps
	}
	grid, ok := newGrid(steps)
	if !ok {
		return steps
	}
	for i, t := range steps {
		steps[i] = t.at([]int{0})
		steps[i].Tip = nil
	}
	return append(steps, grid)
}

// newGrid paints the cells of some steps as an image, one pixel each, unless they are not those of a grid.
func newGrid(steps []Series) (grid Series, ok bool) {
	left, right, low, top := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	palette := color.Palette{color.Transparent}
	for _, t := range steps {
		if t.Mark != Cells || t.complete() < len(t.X) {
			return grid, false
		}
		left, right = min(left, slices.Min(t.X)), max(right, slices.Max(t.X))
		low, top = min(low, slices.Min(t.Y)), max(top, slices.Max(t.Y))
		palette = append(palette, t.style(0).color)
	}
	first := steps[0]
	wide, high := first.X2[0]-first.X[0], first.Y2[0]-first.Y[0]
	if columns, rows := (right-left)/wide, (top-low)/high; !(wide > 0 && high > 0 && columns <= mostPixels && rows <= mostPixels) {
		return grid, false
	}
	place := func(v, from, size float64) int { return int(math.Round((v - from) / size)) }
	img := image.NewPaletted(image.Rect(0, 0, place(right, left, wide)+1, place(top, low, high)+1), palette)
	for k, t := range steps {
		for i := range t.X {
			img.SetColorIndex(place(t.X[i], left, wide), place(top, t.Y[i], high), uint8(k+1))
		}
	}
	return Series{Name: "cells", Mark: Images, Ink: true, Images: []image.Image{img},
		X: []float64{left}, X2: []float64{right + wide}, Y: []float64{low}, Y2: []float64{top + high}}, true
}
