package datasets

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
)

// shown is a decoded image whose pixels are opaque, turned as its EXIF orientation says: from 1, upright, to 8.
type shown struct {
	image.Image
	orientation int
}

func (s shown) Bounds() image.Rectangle {
	b := s.Image.Bounds() // from 0
	if s.orientation > 4 {
		b.Max.X, b.Max.Y = b.Max.Y, b.Max.X
	}
	return b
}

func (s shown) At(x, y int) color.Color {
	end := s.Bounds().Max
	if s.orientation&2 != 0 {
		x = end.X - 1 - x
	}
	if (s.orientation-1)&2 != 0 {
		y = end.Y - 1 - y
	}
	if s.orientation > 4 {
		x, y = y, x
	}
	switch c := s.Image.At(x, y).(type) {
	case color.NRGBA:
		c.A = 0xff
		return c
	case color.NRGBA64:
		c.A = 0xffff
		return c
	default:
		return c
	}
}

// orientation returns that of EXIF data, in the form of TIFF, in the first 64 KiB of a PNG or JPEG file; 1: it has none.
func orientation(file []byte) int {
	file = file[:min(len(file), 1<<16)]
	for mark, order := range map[string]binary.ByteOrder{"II*\x00": binary.LittleEndian, "MM\x00*": binary.BigEndian} {
		_, tiff, found := bytes.Cut(file, []byte("Exif\x00\x00"+mark))
		if !found {
			_, tiff, found = bytes.Cut(file, []byte("eXIf"+mark))
		}
		if len(tiff) < 4 {
			continue
		}
		for at := int(order.Uint32(tiff)) - len(mark) + 2; at >= 0 && at+12 <= len(tiff); at += 12 { // entries: a tag, a type, a count, a value
			if v := order.Uint16(tiff[at+8:]); order.Uint16(tiff[at:]) == 0x0112 && v >= 1 && v <= 8 {
				return int(v)
			}
		}
	}
	return 1
}
