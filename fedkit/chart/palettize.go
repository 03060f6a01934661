package chart

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// palettize writes the image with about this many shades: those of color bars, the figure's own colors, with two tints of each,
// and the most frequent others. What is left becomes the nearest of these. A figure has a dozen colors; the rest are the edges of
// letters and lines. Nobody sees whether there are 50 of them or 500, and the file is less than half as large.
func palettize(img *image.RGBA, bars, own []color.NRGBA, shades int) *image.Paletted {
	count := map[color.RGBA]int{}
	at := func(i int) color.RGBA { return color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], 0xff} }
	for i, n := 0, 0; i < len(img.Pix); i += n { // runs of one color at a time, for speed
		c := at(i)
		for n = 4; i+n < len(img.Pix) && at(i+n) == c; {
			n += 4
		}
		count[c] += n
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], number(a)-number(b)) // the same file every time
	})
	kept := color.Palette{color.RGBA(white)}
	for _, c := range bars[:min(len(bars), 100)] {
		kept = append(kept, color.RGBA(c))
	}
	shades += len(kept)
	for _, c := range own[:min(len(own), (240-len(kept))/3)] {
		for _, t := range []float64{0, 1. / 3, 2. / 3} {
			kept = append(kept, color.RGBA(mix(c, white, t)))
		}
	}
	for _, c := range order {
		if len(kept) < max(shades, len(bars)+3*len(own)+12) && len(kept) < 256 && !slices.Contains(kept, color.Color(c)) {
			kept = append(kept, c)
		}
	}
	index := make(map[color.RGBA]uint8, len(order))
	for _, c := range order {
		index[c] = uint8(kept.Index(c))
	}
	out := image.NewPaletted(img.Bounds(), kept)
	for i := range out.Pix {
		if i > 0 && at(4*i) == at(4*i-4) {
			out.Pix[i] = out.Pix[i-1]
		} else {
			out.Pix[i] = index[at(4*i)]
		}
	}
	return out
}

func number(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
