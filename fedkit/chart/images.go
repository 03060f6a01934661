package chart

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
)

// frame is the room of an image in the figure, in CSS pixels.
func (p *panel) frame() (width, height float64) {
	return 0.9 * float64(p.Width) / (p.x.hi - p.x.lo), 0.9 * float64(p.Height) / (p.y.hi - p.y.lo)
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
