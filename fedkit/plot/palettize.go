package plot

import (
	"image"
	"image/color"
	"slices"
)

// palettize writes the picture with so many colours: those given, with two tints of each, and the most frequent others;
// what is left becomes the nearest of these. A figure has a dozen colours; the rest are the edges of letters and lines,
// of which nobody sees whether there are 50 or 500, and the file is less than half as large.
func palettize(img *image.RGBA, own []color.NRGBA, shades int) *image.Paletted {
	count := map[color.RGBA]int{}
	at := func(i int) color.RGBA { return color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], 0xff} }
	for i, n := 0, 0; i < len(img.Pix); i += n { // runs of one colour at a time, for speed
		c := at(i)
		for n = 4; i+n < len(img.Pix) && at(i+n) == c; {
			n += 4
		}
		count[c] += n
	}
	order := make([]color.RGBA, 0, len(count))
	for c := range count {
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return number(a) - number(b) // the same file every time
	})
	white := color.NRGBA{0xff, 0xff, 0xff, 0xff}
	kept := []color.RGBA{color.RGBA(white)}
	for _, c := range own[:min(len(own), 60)] {
		for _, t := range []float64{0, 1. / 3, 2. / 3} {
			kept = append(kept, color.RGBA(mix(c, white, t)))
		}
	}
	for _, c := range order {
		if len(kept) < max(shades, 3*len(own)+12) && len(kept) < 256 && !slices.Contains(kept, c) {
			kept = append(kept, c)
		}
	}
	index := make(map[color.RGBA]uint8, len(order))
	for _, c := range order {
		index[c] = uint8(nearest(kept, c))
	}
	palette := make(color.Palette, len(kept))
	for i, c := range kept {
		palette[i] = c
	}
	out := image.NewPaletted(img.Bounds(), palette)
	for i := range out.Pix {
		if i > 0 && at(4*i) == at(4*i-4) {
			out.Pix[i] = out.Pix[i-1]
		} else {
			out.Pix[i] = index[at(4*i)]
		}
	}
	return out
}

func nearest(kept []color.RGBA, c color.RGBA) (best int) {
	least := 1 << 30
	for i, k := range kept {
		r, g, b := int(k.R)-int(c.R), int(k.G)-int(c.G), int(k.B)-int(c.B)
		if d := r*r + g*g + b*b; d < least {
			best, least = i, d
		}
	}
	return best
}

func number(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
