package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
)

// writer is what one LEAF file holds of one user.
type writer struct {
	name   string
	pixels []uint8 // [n, f]
	labels []int32 // [n]
}

// readLEAF reads a file of images in LEAF's layout,
//
//	{"users": […], "num_samples": […], "user_data": {"f3795_00": {"x": [[f numbers], …], "y": [label, …]}, …}}
//
// and skips everything but user_data. Numbers in x are bytes divided by 255. It decodes one image at a time: memory is at
// most a fixed multiple of what it has read.
func readLEAF(r io.Reader, features, classes int) (writers []writer, err error) {
	l := leafReader{json.NewDecoder(r)}
	found := false
	err = l.object(func(key string) error {
		if key != "user_data" || found {
			return l.skip()
		}
		found = true
		return l.object(func(user string) error {
			w, err := l.writer(user, features, classes)
			writers = append(writers, w)
			return err
		})
	})
	if err == nil {
		err = l.end()
	}
	switch {
	case err != nil:
		return nil, l.explain(err)
	case !found:
		return nil, errors.New(`has no "user_data": is not a LEAF file`)
	}
	return writers, nil
}

// leafReader reads the values of a LEAF file one after another.
type leafReader struct{ *json.Decoder }

// writer reads the images and labels of a user.
func (l leafReader) writer(user string, features, classes int) (writer, error) {
	w := writer{name: user}
	var image, labels []number
	err := l.object(func(key string) (err error) {
		switch key {
		case "x":
			return l.list('[', func() error {
				if err := l.Decode(&image); err != nil {
					return err
				}
				w.pixels, err = appendImage(w.pixels, image, features)
				return err
			})
		case "y":
			if err := l.Decode(&labels); err != nil {
				return err
			}
			w.labels, err = appendLabels(w.labels, labels, classes)
			return err
		}
		return l.skip()
	})
	if n := len(w.pixels) / features; err == nil && n != len(w.labels) {
		err = fmt.Errorf("%d images but %d labels of %q: must be equal", n, len(w.labels), user)
	}
	return w, err
}

func appendImage(to []uint8, image []number, features int) ([]uint8, error) {
	if len(image) != features {
		return nil, fmt.Errorf("an image of %d pixels: must be %d", len(image), features)
	}
	for _, x := range image {
		b := math.Round(255 * float64(x))
		if !(b >= 0 && b <= 255 && math.Abs(255*float64(x)-b) < 1e-6) {
			return nil, fmt.Errorf("pixel %v: must be one of 0, 1/255, …, 1", x)
		}
		to = append(to, uint8(b))
	}
	return to, nil
}

func appendLabels(to []int32, labels []number, classes int) ([]int32, error) {
	for _, y := range labels {
		if !(y >= 0 && y < number(classes) && y == number(int32(y))) {
			return nil, fmt.Errorf("label %v: must be a whole number in [0, %d)", y, classes)
		}
		to = append(to, int32(y))
	}
	return to, nil
}

// number is a float64 that is not null in JSON: a float64 would be left as it is.
type number float64

// UnmarshalJSON fails unless text is a number that a float64 can hold.
func (n *number) UnmarshalJSON(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("%.20s: must be a number", text)
	}
	*n = number(x)
	return nil
}

// object calls value for every key, to read the value that follows.
func (l leafReader) object(value func(key string) error) error {
	return l.list('{', func() error {
		key, err := l.Token()
		if err != nil {
			return err
		}
		return value(key.(string))
	})
}

// list calls item for everything between two brackets, to read it.
func (l leafReader) list(open json.Delim, item func() error) error {
	if found, err := l.Token(); err != nil {
		return err
	} else if found != open {
		return fmt.Errorf("a value that does not begin with %v", open)
	}
	for l.More() {
		if err := item(); err != nil {
			return err
		}
	}
	_, err := l.Token() // the other bracket
	return err
}

func (l leafReader) skip() error { return l.Decode(new(json.RawMessage)) }

// end checks that nothing follows.
func (l leafReader) end() error {
	switch _, err := l.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("something follows the end")
	default:
		return err
	}
}

// explain says where the file is wrong: at the beginning or the end of the value that was decoded last.
func (l leafReader) explain(err error) error {
	at := l.InputOffset()
	ahead, _ := io.Copy(io.Discard, l.Buffered())
	var disk *fs.PathError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ends after %d bytes: %w", at+ahead, io.ErrUnexpectedEOF)
	case errors.As(err, &disk):
		return fmt.Errorf("unreadable after %d bytes: %w", at+ahead, err)
	}
	return fmt.Errorf("is damaged at byte %d: %w", at, err)
}
