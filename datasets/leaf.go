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

// writer is one user in a LEAF file.
type writer struct {
	name   string
	pixels []uint8 // [n, f]
	labels []int32 // [n]
}

// readLEAF reads a file of images in LEAF's layout,
//
//	{"users": […], "num_samples": […], "user_data": {"f3795_00": {"x": [[f numbers], …], "y": [label, …]}, …}}
//
// and skips everything but user_data. Numbers in x are bytes divided by 255. It decodes one user at a time: memory is at
// most a fixed multiple of what it has read.
func readLEAF(r io.Reader, features, classes int) (writers []writer, err error) {
	d := json.NewDecoder(r)
	found := false
	err = object(d, func(key string) error {
		if key != "user_data" || found {
			return skip(d)
		}
		found = true
		return object(d, func(user string) error {
			w, err := readWriter(d, features, classes)
			if err != nil {
				return fmt.Errorf("user %q: %w", user, err)
			}
			w.name = user
			writers = append(writers, w)
			return nil
		})
	})
	if err == nil {
		err = ends(d)
	}
	switch {
	case err != nil:
		return nil, damage(d, err)
	case !found:
		return nil, errors.New(`has no "user_data": is not a LEAF file`)
	}
	return writers, nil
}

// readWriter reads the images and labels of a user.
func readWriter(d *json.Decoder, features, classes int) (w writer, err error) {
	var images [][]number
	var labels []number
	if err := object(d, func(key string) error {
		switch key {
		case "x":
			return decode(d, &images)
		case "y":
			return decode(d, &labels)
		}
		return skip(d)
	}); err != nil {
		return w, err
	}
	for i, image := range images {
		if len(image) != features {
			return w, fmt.Errorf("image %d has %d pixels: must have %d", i, len(image), features)
		}
		for _, x := range image {
			b := math.Round(255 * float64(x))
			if !(b >= 0 && b <= 255 && math.Abs(255*float64(x)-b) < 1e-6) {
				return w, fmt.Errorf("image %d has pixel %v: must be one of 0, 1/255, …, 1", i, x)
			}
			w.pixels = append(w.pixels, uint8(b))
		}
	}
	for _, y := range labels {
		if !(y >= 0 && y < number(classes) && y == number(int32(y))) {
			return w, fmt.Errorf("label %v: must be a whole number in [0, %d)", y, classes)
		}
		w.labels = append(w.labels, int32(y))
	}
	if len(images) != len(labels) {
		return w, fmt.Errorf("%d images but %d labels: must be equal", len(images), len(labels))
	}
	return w, nil
}

// decode reads an array and appends it to the list.
func decode[T any](d *json.Decoder, list *[]T) error {
	var more []T
	err := d.Decode(&more)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("a %s: must be an array", kind.Value)
	}
	if err == nil && more == nil {
		return errors.New("null: must be an array")
	}
	*list = append(*list, more...)
	return err
}

// number is a float64 that refuses JSON's null, which would leave a float64 unchanged.
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

// object reads an object. It calls value for every key, to read the value that follows.
func object(d *json.Decoder, value func(key string) error) error {
	if open, err := d.Token(); err != nil {
		return err
	} else if open != json.Delim('{') {
		return errors.New("a value that does not begin with {")
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key := token.(string)
		if len(key) > longestName {
			return fmt.Errorf("a name of more than %d bytes", longestName)
		}
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := d.Token() // the closing brace
	return err
}

// longestName limits the names in a file, in bytes.
const longestName = 256

// skip reads a value and discards it.
func skip(d *json.Decoder) error { return d.Decode(new(json.RawMessage)) }

// ends checks that the file ends here.
func ends(d *json.Decoder) error {
	switch _, err := d.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("something follows the end")
	default:
		return err
	}
}

// damage adds the position to an error: the beginning or the end of the value that was read last.
func damage(d *json.Decoder, err error) error {
	at := d.InputOffset()
	ahead, _ := io.Copy(io.Discard, d.Buffered())
	var disk *fs.PathError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("ends after %d bytes: %w", at+ahead, io.ErrUnexpectedEOF)
	case errors.As(err, &disk):
		return fmt.Errorf("unreadable after %d bytes: %w", at+ahead, err)
	}
	return fmt.Errorf("is damaged at byte %d: %w", at, err)
}
