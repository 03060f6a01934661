// Command thumbnails makes small pictures of large ones, for the index of the notebooks.
//
//	go run ./scripts/thumbnails IN.png OUT.png [IN.png OUT.png …]
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"

	"golang.org/x/image/draw"
)

const (
	width, height = 300, 190 // at most, in pixels
	most          = 12_000   // bytes
)

func main() {
	for pair := range slices.Chunk(os.Args[1:], 2) {
		if err := shrink(pair[0], pair[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// shrink writes a picture at a smaller size, and with fewer colors until it has few enough bytes.
func shrink(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	large, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	size := large.Bounds().Size()
	scale := min(float64(width)/float64(size.X), float64(height)/float64(size.Y), 1)
	small := image.NewRGBA(image.Rect(0, 0, max(1, int(scale*float64(size.X))), max(1, int(scale*float64(size.Y)))))
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(small, small.Bounds(), large, large.Bounds(), draw.Over, nil)
	for colors := 64; ; colors /= 2 {
		var out bytes.Buffer
		few := image.NewPaletted(small.Bounds(), palette(small, colors))
		draw.Draw(few, few.Bounds(), small, image.Point{}, draw.Src)
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
			return err
		}
		if out.Len() <= most || colors <= 8 {
			return os.WriteFile(to, out.Bytes(), 0o644)
		}
	}
}

// palette has the most frequent colors, in steps of 16.
func palette(of *image.RGBA, n int) color.Palette {
	count := map[color.RGBA]int{}
	for i := 0; i < len(of.Pix); i += 4 {
		step := func(v uint8) uint8 { return uint8(min(255, (int(v)+8)/16*17)) }
		count[color.RGBA{step(of.Pix[i]), step(of.Pix[i+1]), step(of.Pix[i+2]), 255}]++
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range all[:min(n, len(all))] {
		p = append(p, c)
	}
	return p
}
