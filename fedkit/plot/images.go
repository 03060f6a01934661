package plot

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// frame is the room of a picture in the figure, in CSS pixels.
func (p *panel) frame() (width, height float64) {
	return 0.9 * float64(p.Width) / (p.x.hi - p.x.lo), 0.9 * float64(p.Height) / (p.y.hi - p.y.lo)
}

// dataURL is the picture as a PNG file in a URL, which needs no network; "" if it cannot be written.
func dataURL(img image.Image) string {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, indexed(img)); err != nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// indexed is the same picture with a palette, which makes small files, if it has no more than 256 colours.
func indexed(img image.Image) image.Image {
	bounds := img.Bounds()
	var palette color.Palette
	index := map[color.NRGBA]uint8{}
	out := image.NewPaletted(bounds, nil)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			k, known := index[c]
			if !known {
				if len(palette) == 256 {
					return img
				}
				k = uint8(len(palette))
				index[c], palette = k, append(palette, c)
			}
			out.SetColorIndex(x, y, k)
		}
	}
	out.Palette = palette
	return out
}

// enlarged repeats the elements of a small picture, so that the canvas, which smooths what it enlarges, leaves them square.
func enlarged(img image.Image) image.Image {
	bounds := img.Bounds()
	k := 1 + 256/max(bounds.Dx(), bounds.Dy())
	out := image.NewRGBA(image.Rect(0, 0, k*bounds.Dx(), k*bounds.Dy()))
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			at := image.Rect(k*x, k*y, k*x+k, k*y+k)
			draw.Draw(out, at, image.NewUniform(img.At(bounds.Min.X+x, bounds.Min.Y+y)), image.Point{}, draw.Src)
		}
	}
	return out
}
