package datasets

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
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
	for _, mark := range []string{"Exif\x00\x00", "eXIf"} {
		_, tiff, _ := bytes.Cut(file[:min(len(file), 1<<16)], []byte(mark))
		order := binary.ByteOrder(binary.LittleEndian)
		if bytes.HasPrefix(tiff, []byte("MM")) {
			order = binary.BigEndian
		}
		if len(tiff) < 8 || order.Uint16(tiff[2:]) != 42 {
			continue
		}
		tags := tiff[min(uint64(order.Uint32(tiff[4:])), uint64(len(tiff))):]
		if len(tags) < 2 {
			continue
		}
		for tag := range slices.Chunk(tags[2:min(2+12*int(order.Uint16(tags)), len(tags))], 12) { // its number, a type, a count, a value
			if len(tag) == 12 && order.Uint16(tag) == 0x0112 {
				return min(max(1, int(order.Uint16(tag[8:]))), 8)
			}
		}
	}
	return 1
}
