package datasets

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
)

// gray is a PNG of two rows and three columns, whose values count from v.
func gray(v uint8) string {
	m := image.NewGray(image.Rect(0, 0, 3, 2))
	for i := range m.Pix {
		m.Pix[i] = v + uint8(i)
	}
	return encoded(m)
}

func encoded(m image.Image) string {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}

// colored is a PNG of one row with a transparent and an opaque pixel, of 16 bits each.
func colored() string {
	m := image.NewNRGBA64(image.Rect(0, 0, 2, 1))
	m.SetNRGBA64(0, 0, color.NRGBA64{0x1000, 0x20ff, 0x3000, 0x8000})
	m.SetNRGBA64(1, 0, color.NRGBA64{0xff00, 0x8000, 0x00ff, 0xffff})
	return encoded(m)
}

// tree writes files into folders of a new one, and returns it.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	return putIn(t, "", content)
}

func TestImageFolder(t *testing.T) {
	dir := tree(t, map[string]string{
		"train/dog/b.png": gray(10), "train/dog/a.png": gray(20), "train/cat/c.PNG": gray(30), "train/.hidden": "", "train/cat/.DS_Store": "x",
		"test/dog/d.png": gray(40), "test/cat/e.png": gray(50),
	})
	d := expect.Value(ImageFolder{Dir: filepath.Join(dir, "train"), Test: filepath.Join(dir, "test")}.Make())(t)
	if d.Name != "train" || !slices.Equal(d.Shape, []int{2, 3, 1}) || d.Classes != 2 || !slices.Equal(d.Train.Labels, []int32{0, 1, 1}) || !slices.Equal(d.Test.Labels, []int32{0, 1}) ||
		!slices.Equal(d.Train.Bytes, []uint8{30, 31, 32, 33, 34, 35, 20, 21, 22, 23, 24, 25, 10, 11, 12, 13, 14, 15}) || d.Train.Owner != nil || d.Train.Scale != 1.0/255 {
		t.Errorf("%+v", d)
	}
	d = expect.Value(ImageFolder{Dir: filepath.Join(dir, "train"), Name: "pets", Share: 0.4}.Make())(t)
	expect.That(t, d.Name == "pets" && d.Train.Len() == 2 && d.Test.Len() == 1, "%+v", d)
}

func TestImageFolderOwners(t *testing.T) {
	dir := tree(t, map[string]string{
		"Ulm/1/a.png": gray(0), "Ulm/10/a.png": gray(10), "Bonn/9/x.png": gray(20), "Bonn/10/x.png": gray(30),
	})
	d := expect.Value(ImageFolder{Dir: dir, Test: dir, Owners: true}.Make())(t)
	if !slices.Equal(d.Train.Owner, []int32{0, 0, 1, 1}) || !slices.Equal(d.Train.Labels, []int32{2, 1, 0, 2}) || d.Train.Bytes[0] != 30 { // numbers by value, folders by name
		t.Errorf("%+v", d.Train)
	}
}

// Colors keep their eight most significant bits and lose their opacity; gray is 0.299 R + 0.587 G + 0.114 B. A uniform image
// stays so at every size.
func TestImageFolderConverts(t *testing.T) {
	var b bytes.Buffer
	flat := image.NewGray(image.Rect(0, 0, 8, 4))
	for i := range flat.Pix {
		flat.Pix[i] = 200
	}
	expect.OK(t, jpeg.Encode(&b, flat, &jpeg.Options{Quality: 100}))
	dir := tree(t, map[string]string{"c/a.png": colored(), "d/b.png": colored()})
	both := tree(t, map[string]string{"c/a.png": colored(), "d/b.jpg": b.String()})
	for _, c := range []struct {
		f    ImageFolder
		want []uint8 // of both images
	}{
		{ImageFolder{Dir: dir}, []uint8{0x10, 0x20, 0x30, 0xff, 0x80, 0x00, 0x10, 0x20, 0x30, 0xff, 0x80, 0x00}},
		{ImageFolder{Dir: dir, Channels: 1}, []uint8{29, 151, 29, 151}}, // of all 16 bits
		{ImageFolder{Dir: both, Channels: 3, Size: []int{1, 1}}, []uint8{135, 80, 24, 200, 200, 200}},
	} {
		c.f.Test = c.f.Dir
		d := expect.Value(c.f.Make())(t)
		expect.That(t, slices.Equal(d.Train.Bytes, c.want) && len(d.Train.Bytes) == 2*d.Features(),
			"%+v: %v of shape %v, want %v", c.f, d.Train.Bytes, d.Shape, c.want)
	}
}

// Transparent pixels keep their colors, at every size and in every form that PNG has.
func TestOpacity(t *testing.T) {
	of := func(m draw.Image, c color.Color) string {
		draw.Draw(m, m.Bounds(), image.NewUniform(color.NRGBA{200, 100, 50, 255}), image.Point{}, draw.Src)
		m.Set(0, 0, c)
		m.Set(1, 0, c)
		return encoded(m)
	}
	clear, square := color.NRGBA{200, 100, 50, 0}, image.Rect(0, 0, 2, 2)
	for name, file := range map[string]string{
		"8 bits":    of(image.NewNRGBA(square), clear),
		"16 bits":   of(image.NewNRGBA64(square), color.NRGBA64{200 << 8, 100 << 8, 50 << 8, 1}),
		"a palette": of(image.NewPaletted(square, color.Palette{color.NRGBA{200, 100, 50, 255}, clear}), clear),
	} {
		for _, size := range [][]int{nil, {1, 1}, {3, 3}} {
			dir := tree(t, map[string]string{"a/0.png": file, "b/0.png": file})
			d := expect.Value(ImageFolder{Dir: dir, Test: dir, Size: size}.Make())(t)
			for pixel := range slices.Chunk(d.Train.Bytes, 3) {
				expect.That(t, slices.Equal(pixel, []uint8{200, 100, 50}), "%s, size %v: %v", name, size, pixel)
			}
		}
	}
}

// withEXIF returns a PNG or JPEG file with the orientation among its EXIF data, a tag of 12 bytes after another one.
func withEXIF(file string, order binary.AppendByteOrder, orientation uint16) string {
	tiff := append(order.AppendUint16([]byte(map[binary.AppendByteOrder]string{binary.LittleEndian: "II", binary.BigEndian: "MM"}[order]), 42), order.AppendUint32(nil, 8)...)
	tiff = append(order.AppendUint16(tiff, 2), make([]byte, 12)...)
	for _, v := range []uint16{0x0112, 3} {
		tiff = order.AppendUint16(tiff, v)
	}
	tiff = append(order.AppendUint16(order.AppendUint32(tiff, 1), orientation), 0, 0, 0, 0, 0, 0)
	if strings.HasPrefix(file, "\xff\xd8") {
		head := binary.BigEndian.AppendUint16([]byte("\xff\xd8\xff\xe1"), uint16(len(tiff)+8))
		return string(head) + "Exif\x00\x00" + string(tiff) + file[2:]
	}
	chunk := "eXIf" + string(tiff)
	sum := binary.BigEndian.AppendUint32([]byte(chunk), crc32.ChecksumIEEE([]byte(chunk)))
	const header = 33 // bytes of the signature and of IHDR
	return file[:header] + string(binary.BigEndian.AppendUint32(nil, uint32(len(tiff)))) + string(sum) + file[header:]
}

// Images are turned as Pillow's exif_transpose turns them: 1 2 3 above 4 5 6, at the eight orientations.
func TestOrientation(t *testing.T) {
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 24, 16)) // of squares of 8 pixels, which JPEG keeps
	for i := range m.Pix {
		m.Pix[i] = uint8(40 * (1 + i%24/8 + 3*(i/24/8)))
	}
	expect.OK(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}))
	for i, want := range [][]uint8{{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3}, {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}} {
		for _, file := range []string{encoded(m), b.String()} {
			for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
				file := withEXIF(file, order, uint16(i+1))
				dir := tree(t, map[string]string{"a/0.png": file, "b/0.png": file})
				d := expect.Value(ImageFolder{Dir: dir, Test: dir}.Make())(t)
				var got []uint8
				for y := 4; y < d.Shape[0]; y += 8 {
					for x := 4; x < d.Shape[1]; x += 8 {
						got = append(got, (d.Train.Bytes[y*d.Shape[1]+x]+5)/40)
					}
				}
				if shape := [][]int{{16, 24, 1}, {24, 16, 1}}[i/4]; !slices.Equal(d.Shape, shape) || !slices.Equal(got, want) {
					t.Errorf("orientation %d: %v of shape %v, want %v", i+1, got, d.Shape, want)
				}
			}
		}
	}
	whole := withEXIF(encoded(m), binary.LittleEndian, 6)
	for n := range len(whole) { // of a damaged file
		if o := orientation([]byte(whole[:n])); o != 1 && (o != 6 || n < 75) {
			t.Errorf("%d bytes: orientation %d", n, o)
		}
	}
	if o := orientation([]byte("Exif\x00\x00II*\x00\xff\xff\xff\xff\x01\x00eXIfMM\x00*\x00\x00\x00\x08\xff\xff\x01\x12")); o != 1 {
		t.Errorf("orientation %d", o)
	}
}

// A table in memory may have images.
func TestTableOfImages(t *testing.T) {
	rows := Rows{Images: [][]byte{[]byte(gray(1)), []byte(gray(7))}, Labels: []string{"cat", "dog"}, Owners: []string{"x", "x"}}
	d := expect.Value(Table{Name: "pets", Train: rows, Test: rows}.Make())(t)
	if want := []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(d.Shape, []int{2, 3, 1}) || !slices.Equal(d.Train.Bytes, want) || !slices.Equal(d.Test.Bytes, want) || d.Test.Scale != 1.0/255 {
		t.Errorf("%+v", d)
	}
	few, both := rows, rows
	few.Images, both.Features = rows.Images[:1], []float32{1, 2}
	expect.Error(t, "datasets: Table: Train: 1 images and 0 features of 2 rows: must be one image per row, no features")(Table{Train: few}.Make())
	expect.Error(t, "Train: 2 images and 2 features of 2 rows: must be")(Table{Train: both}.Make())
	expect.Error(t, "Test: 0 images and 2 features of 2 rows: must be")(Table{Train: rows, Test: Rows{Features: both.Features, Labels: rows.Labels}}.Make())
	expect.Error(t, "Train: 1 images and 0 features of 0 rows: must be")(Table{Train: Rows{Images: few.Images}}.Make())
}

func TestBadImageFolder(t *testing.T) {
	large := gray(0)
	i := strings.Index(large, "IHDR") + 4
	bomb := large[:i] + "\x00\x00\xff\xff\x00\x00\xff\xff" + large[i+8:]
	for want, c := range map[string]struct {
		f     ImageFolder
		files map[string]string
	}{
		"ImageFolder: Dir is empty: must be":                          {},
		"has no image: must have folders of classes":                  {},
		"c is not a folder: must be one":                              {files: map[string]string{"c": gray(0)}},
		"x is a folder: must be an image; Owners if":                  {files: map[string]string{"c/x/a.png": gray(0)}},
		"x.png is not a folder: must be one":                          {f: ImageFolder{Owners: true}, files: map[string]string{"c/x.png": gray(0)}},
		`column "folder": all labels are "c": must be`:                {files: map[string]string{"c/a.png": gray(0), "c/b.png": gray(0)}},
		"b.txt: is not a PNG or JPEG image: image: unknown":           {files: map[string]string{"c/a.png": gray(0), "c/b.txt": "hello"}},
		"b.png: has 1×2 pixels: must have 2×3, as the first image":    {files: map[string]string{"c/a.png": gray(0), "d/b.png": colored()}},
		"b.png: has 3 channels: must have 1, as the first image":      {f: ImageFolder{Size: []int{2, 3}}, files: map[string]string{"c/a.png": gray(0), "d/b.png": colored()}},
		"b.png: is a damaged image: png: invalid":                     {files: map[string]string{"c/a.png": gray(0), "d/b.png": gray(0)[:50]}},
		"a.png: is not a PNG or JPEG image: png: invalid format: inv": {files: map[string]string{"c/a.png": bomb}},
		"Size = [0 1]: must be [height width], each in":               {f: ImageFolder{Size: []int{0, 1}}},
		"Channels = 2: must be 1 for gray":                            {f: ImageFolder{Channels: 2}},
		"ImageFolder: Share = 2: must be in (0, 1)":                   {f: ImageFolder{Share: 2}},
	} {
		if c.f.Dir = tree(t, c.files); strings.Contains(want, "Dir is") {
			c.f.Dir = ""
		}
		expect.Error(t, want, "datasets: ")(c.f.Make())
	}
	expect.Error(t, "is an image of 2048×2048 pixels in")(imageConfig([]byte(pixels(t, 1<<11, 1<<11))))
}

// pixels is a PNG of so many black pixels.
func pixels(t testing.TB, height, width int) string {
	t.Helper()
	return encoded(image.NewGray(image.Rect(0, 0, width, height)))
}

func FuzzImageFolder(f *testing.F) {
	f.Add([]byte(gray(3)), false)
	f.Add([]byte(colored()), true)
	f.Add([]byte(withEXIF(colored(), binary.BigEndian, 6)), true)
	f.Add([]byte("\xff\xd8\xff\xe0"), false)
	f.Fuzz(func(t *testing.T, file []byte, scale bool) {
		c := ImageFolder{Channels: 3}
		shape := []int{2, 3, 3}
		if scale {
			c.Size = shape[:2]
		} else if is, _, err := imageConfig(file); err == nil && is.Width*is.Height < 1<<20 {
			shape = []int{is.Height, is.Width, 3}
		}
		dst := make([]uint8, shape[0]*shape[1]*3)
		bounds.Check(t, len(file), func() {
			if _, err := c.pixels(dst, shape, file); err != nil && len(err.Error()) > 400 {
				t.Fatal(err)
			}
		})
	})
}
