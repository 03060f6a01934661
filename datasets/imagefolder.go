package datasets

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // formats of image.Decode
	_ "image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"fedkit.example/datasets/room"
	"golang.org/x/image/draw"
)

// ImageFolder reads PNG and JPEG images whose classes are the names of their folders, as torchvision's ImageFolder does:
//
//	data := must.M1(datasets.ImageFolder{Dir: "pets/train", Test: "pets/test"}.Make()) // pets/train/cat/17.png
//
// With Owners, the folders above those of classes are owners, such as the hospitals of scans: Dir/Ulm/healthy/3.png. Classes and
// owners are numbered as those of a Table, over both parts. Names that begin with a dot are skipped.
type ImageFolder struct {
	Dir      string  // required
	Test     string  // a folder of the same form that has the test images; default: a Share of Dir's is held back
	Owners   bool    // Dir has folders of owners, which have folders of classes
	Size     []int   // [height width] to which all images are scaled, bilinearly; default: none is, and all must have one size
	Channels int     // 1 for gray, 3 for RGB, to which all images are converted; default: none is, and all must be gray, or none
	Name     string  // default: the folder's
	Share    float64 `range:"(0,1)" default:"0.2"` // of the images to hold back, stratified by owner and class, ± 1 image
	Seed     uint64  // chooses these images

	UnseenLabels bool // test images may have classes that no training image has
}

// Make returns the data set: Shape [height width channels], Bytes with Scale 1/255, rows by owner, class and file name. Opacity is
// ignored, 16 bits become 8, and images are turned as their EXIF orientation says, as Hugging Face's datasets do. It fails, and names
// the file, if one is not an image, or has another size or number of channels; and if only test images have a class.
func (f ImageFolder) Make() (*Dataset, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	t := Table{Name: cmp.Or(f.Name, filepath.Base(f.Dir)), Share: f.Share, Seed: f.Seed, Source: f.Dir, Label: "folder", UnseenLabels: f.UnseenLabels, images: f}
	var err error
	if t.Train, err = f.rows(f.Dir); err == nil && f.Test != "" {
		t.Test, err = f.rows(f.Test)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return t.Make()
}

func (f ImageFolder) check() error {
	switch {
	case f.Dir == "":
		return errors.New("datasets: ImageFolder: Dir is empty: must be the path of a folder")
	case f.Size != nil && (len(f.Size) != 2 || slices.Min(f.Size) < 1 || slices.Max(f.Size) > 1<<14):
		return fmt.Errorf("datasets: ImageFolder: Size = %v: must be [height width], each in [1, %d]", f.Size, 1<<14)
	case f.Channels != 0 && f.Channels != 1 && f.Channels != 3:
		return fmt.Errorf("datasets: ImageFolder: Channels = %d: must be 1 for gray, 3 for RGB, or 0", f.Channels)
	}
	return checkShare("ImageFolder", f, f.Share, f.Test)
}

// atImage is an error of one of several images.
type atImage struct {
	image int
	error
}

func (e atImage) Unwrap() error { return e.error }

// decode returns n images, without labels. The first of all sets what d.Shape lacks.
func (f ImageFolder) decode(d *Dataset, n int, read func(i int) (file []byte, err error)) (s Split, err error) {
	if len(d.Shape) < 3 {
		var c image.Config
		file, err := read(0)
		if err == nil {
			c, _, err = imageConfig(file)
		}
		if err != nil {
			return s, atImage{0, err}
		}
		if f.Size == nil {
			d.Shape = []int{c.Height, c.Width}
		}
		d.Shape = append(d.Shape, cmp.Or(f.Channels, channels(c.ColorModel)))
	}
	values := d.Features()
	if n > maxValues/values {
		return s, fmt.Errorf("has %d images of shape %v: must have at most %d values", n, d.Shape, maxValues)
	}
	if err := room.For(float64(n) * float64(values)); err != nil {
		return s, fmt.Errorf("has %d images of shape %v and %w", n, d.Shape, err)
	}
	s = Split{Bytes: make([]uint8, n*values), Scale: 1.0 / 255}
	var turned atomic.Int64
	err = parallel(n, func(i int) error {
		file, err := read(i)
		o := 1
		if err == nil {
			o, err = f.pixels(s.Bytes[i*values:(i+1)*values], d.Shape, file)
		}
		if err != nil {
			return atImage{i, err}
		}
		if o > 1 {
			turned.Add(1)
		}
		return nil
	})
	if turned := turned.Load(); turned > 0 && err == nil {
		fmt.Fprintf(os.Stderr, "datasets: %s: %d of %d images were turned as their EXIF orientation says\n", d.Name, turned, n)
	}
	return s, err
}

// rows lists the images below a folder.
func (f ImageFolder) rows(dir string) (r Rows, err error) {
	classes := func(dir, owner string) error {
		return each(dir, true, func(class string) error {
			return each(filepath.Join(dir, class), false, func(name string) error {
				r.paths, r.Labels = append(r.paths, filepath.Join(dir, class, name)), append(r.Labels, class)
				if f.Owners {
					r.Owners = append(r.Owners, owner)
				}
				return nil
			})
		})
	}
	if f.Owners {
		err = each(dir, true, func(owner string) error { return classes(filepath.Join(dir, owner), owner) })
	} else {
		err = classes(dir, "")
	}
	if err == nil && r.paths == nil {
		err = fmt.Errorf("%s has no image: must have folders of classes with PNG or JPEG images", dir)
	}
	return r, err
}

// each visits what a folder has, by name. All must be folders, or none.
func each(dir string, folders bool, visit func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name())) // that a link leads to
		switch {
		case err != nil:
			return err
		case folders && !info.IsDir():
			return fmt.Errorf("%s is not a folder: must be one, with images or, of an owner, with such folders", filepath.Join(dir, e.Name()))
		case !folders && info.IsDir():
			return fmt.Errorf("%s is a folder: must be an image; Owners if the folders above are those of owners", filepath.Join(dir, e.Name()))
		}
		if err := visit(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// An image may have a million pixels, and a larger one 200 times as many as it has bytes: the rest are decompression bombs.
const pixelsAlways = 1 << 20

// imageConfig returns the size, once it is upright, and the color model of an image that can be decoded, and its orientation.
func imageConfig(file []byte) (c image.Config, o int, err error) {
	c, kind, err := image.DecodeConfig(bytes.NewReader(file))
	switch {
	case err != nil:
		return c, 0, fmt.Errorf("is not a PNG or JPEG image: %w", err)
	case kind != "png" && kind != "jpeg": // others are known if a program imports them
		return c, 0, fmt.Errorf("is an image of type %s: must be PNG or JPEG", kind)
	case c.Width < 1 || c.Height < 1 || c.Width > maxValues/c.Height:
		return c, 0, fmt.Errorf("is an image of %d×%d pixels: must have at least one, and at most %d", c.Height, c.Width, maxValues)
	case c.Width*c.Height > max(pixelsAlways, unpackedTimes*len(file)):
		return c, 0, fmt.Errorf("is an image of %d×%d pixels in %d bytes: must be at most %d per byte", c.Height, c.Width, len(file), unpackedTimes)
	}
	if o = orientation(file); o > 4 {
		c.Height, c.Width = c.Width, c.Height
	}
	return c, o, nil
}

// hint is how to convert the images of a folder; those of a table cannot be.
func (f ImageFolder) hint(how string) string {
	if f.Dir == "" {
		return ""
	}
	return how
}

// channels returns 1 for gray and 3 for all other colors.
func channels(m color.Model) int {
	if m == color.GrayModel || m == color.Gray16Model {
		return 1
	}
	return 3
}

// large is held while an image is decoded that is so large that there may be no room for as many at a time as there are processors.
var large sync.Mutex

// pixels writes an image's values into dst, row after row, channels last, and returns its orientation.
func (f ImageFolder) pixels(dst []uint8, shape []int, file []byte) (o int, err error) {
	c, o, err := imageConfig(file)
	switch {
	case err != nil:
		return o, err
	case f.Size == nil && (c.Height != shape[0] || c.Width != shape[1]):
		return o, fmt.Errorf("has %d×%d pixels: must have %d×%d, as the first image has%s", c.Height, c.Width, shape[0], shape[1], f.hint("; Size scales all"))
	case f.Channels == 0 && channels(c.ColorModel) != shape[2]:
		return o, fmt.Errorf("has %d channels: must have %d, as the first image has%s", channels(c.ColorModel), shape[2], f.hint("; Channels converts all"))
	}
	need := 16 * float64(c.Width) * float64(c.Height) // a progressive JPEG image takes most
	if f.Size != nil {
		need += float64(shape[1]) * (32*float64(c.Height) + 8*float64(shape[0])) // scaled in one direction, and in both
	}
	if need*float64(runtime.GOMAXPROCS(0)) > room.Free()/2 {
		large.Lock()
		defer large.Unlock()
		if err := room.For(need); err != nil {
			return o, fmt.Errorf("is an image of %d×%d pixels, which %w", c.Height, c.Width, err)
		}
	}
	m, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return o, fmt.Errorf("is a damaged image: %w", err)
	}
	full, known := m.(interface{ Opaque() bool })
	if o > 1 || known && !full.Opaque() {
		m = shown{m, o}
	}
	if f.Size != nil && (c.Height != shape[0] || c.Width != shape[1]) {
		scaled := image.NewNRGBA64(image.Rect(0, 0, shape[1], shape[0]))
		draw.BiLinear.Scale(scaled, scaled.Bounds(), m, m.Bounds(), draw.Src, nil)
		m = scaled
	}
	at := 0
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			if v := color.NRGBA64Model.Convert(m.At(x, y)).(color.NRGBA64); shape[2] == 1 {
				dst[at] = color.GrayModel.Convert(v).(color.Gray).Y
			} else {
				dst[at], dst[at+1], dst[at+2] = uint8(v.R>>8), uint8(v.G>>8), uint8(v.B>>8)
			}
			at += shape[2]
		}
	}
	return o, nil
}
