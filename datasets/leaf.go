package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"fedkit.example/datasets/internal/columns"
	"fedkit.example/datasets/room"
)

// writer is one user in a LEAF file.
type writer struct {
	name   string
	bytes  []uint8 // [n, f], pixels or characters
	labels []int32 // [n]
}

// leafForm is how a data set writes an example x and a label y.
type leafForm[X, Y any] struct {
	what string                 // an example, in errors
	x    func(*writer, X) error // adds an example
	y    func(*writer, Y) error // adds a label
}

// leafImages are lists of numbers, which are bytes divided by 255.
func leafImages(features, classes int) leafForm[[]number, number] {
	return leafForm[[]number, number]{"image", func(w *writer, image []number) error {
		if len(image) != features {
			return fmt.Errorf("has %d pixels: must have %d", len(image), features)
		}
		for _, x := range image {
			b := math.Round(255 * float64(x))
			if !(b >= 0 && b <= 255 && math.Abs(255*float64(x)-b) < 1e-6) {
				return fmt.Errorf("has pixel %v: must be one of 0, 1/255, …, 1", x)
			}
			w.bytes = append(w.bytes, uint8(b))
		}
		return nil
	}, func(w *writer, y number) error {
		if !(y >= 0 && y < number(classes) && y == number(int32(y))) {
			return fmt.Errorf("label %v: must be a whole number in [0, %d)", y, classes)
		}
		w.labels = append(w.labels, int32(y))
		return nil
	}}
}

// leafCharacters are strings of 80 characters, with one character as the label.
func leafCharacters() leafForm[text, text] {
	return leafForm[text, text]{"text", func(w *writer, x text) error {
		chars, err := known(string(x), window)
		w.bytes = append(w.bytes, chars...)
		return err
	}, func(w *writer, y text) error {
		label, err := known(string(y), 1)
		if err != nil {
			return fmt.Errorf("label %s %w", columns.Quote(string(y)), err)
		}
		w.labels = append(w.labels, int32(label[0]))
		return nil
	}}
}

// readLEAF reads a file in LEAF's layout,
//
//	{"users": […], "num_samples": […], "user_data": {"f3795_00": {"x": [example, …], "y": [label, …]}, …}}
//
// and skips everything but user_data. It decodes one user at a time: memory is at most a fixed multiple of what it has read.
func readLEAF[X, Y any](r io.Reader, form leafForm[X, Y]) (writers []writer, err error) {
	d := json.NewDecoder(r)
	found := false
	err = object(d, func(key string) error {
		if key != "user_data" || found {
			return skip(d)
		}
		found = true
		return object(d, func(user string) error {
			w, err := form.read(d)
			if err != nil {
				return fmt.Errorf("user %q: %w", user, err)
			}
			w.name = user
			writers = append(writers, w)
			return nil
		})
	})
	if err == nil {
		if _, end := d.Token(); end == nil {
			err = errors.New("something follows the end")
		} else if end != io.EOF {
			err = end
		}
	}
	switch {
	case err != nil:
		return nil, damage(d, err)
	case !found:
		return nil, errors.New(`has no "user_data": is not a LEAF file`)
	}
	return writers, nil
}

// read reads the examples and labels of a user.
func (form leafForm[X, Y]) read(d *json.Decoder) (w writer, err error) {
	var examples []X
	var labels []Y
	if err := object(d, func(key string) error {
		switch key {
		case "x":
			return decode(d, &examples)
		case "y":
			return decode(d, &labels)
		}
		return skip(d)
	}); err != nil {
		return w, err
	}
	for i, x := range examples {
		if err := form.x(&w, x); err != nil {
			return w, fmt.Errorf("%s %d %w", form.what, i, err)
		}
	}
	for _, y := range labels {
		if err := form.y(&w, y); err != nil {
			return w, err
		}
	}
	if len(examples) != len(labels) {
		return w, fmt.Errorf("%d %ss but %d labels: must be equal", len(examples), form.what, len(labels))
	}
	return w, nil
}

// leaf makes a data set of the files in the folders train and test of its folder; d says the rest. Writers are numbered in the order in
// which they appear.
func leaf[X, Y any](d Dataset, scale float32, form leafForm[X, Y]) func(ctx context.Context, l *Loader) (*Dataset, error) {
	return func(ctx context.Context, l *Loader) (*Dataset, error) {
		d, numbers := d, map[string]int32{} // of the writers
		d.Shape = slices.Clone(d.Shape)
		folder, err := l.locate(ctx, &source{
			what: "train/*.json and test/*.json", folder: d.Name,
			find: func(root string) string {
				root = filepath.Join(root, d.Name)
				if jsonFiles(root, "train") == nil || jsonFiles(root, "test") == nil {
					return ""
				}
				return root
			},
			hint: "LEAF's program makes these files: see the documentation of datasets.Name",
		})
		if err == nil {
			err = readWriters(ctx, jsonFiles(folder, "train"), &d.Train, form, numbers)
		}
		if err == nil {
			err = readWriters(ctx, jsonFiles(folder, "test"), &d.Test, form, numbers)
		}
		if d.Train.Scale, d.Test.Scale = scale, scale; err == nil {
			err = d.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("datasets: %s: %w", d.Name, err)
		}
		return &d, nil
	}
}

// jsonFiles returns the files of a part in the order of their names, nil if there are none.
func jsonFiles(root, part string) []string {
	files, _ := fs.Glob(os.DirFS(root), part+"/*.json") // the pattern is right, and other errors are ignored
	for i, name := range files {
		files[i] = filepath.Join(root, name)
	}
	return files
}

// readWriters appends the files of one part to it, several read at a time, and numbers the writers that have no number yet.
func readWriters[X, Y any](ctx context.Context, files []string, s *Split, form leafForm[X, Y], numbers map[string]int32) error {
	writers := make([][]writer, len(files))
	if err := parallel(len(files), func(i int) (err error) {
		if err = ctx.Err(); err == nil {
			writers[i], err = readWriterFile(files[i], form)
		}
		return err
	}); err != nil {
		return err
	}
	n, size := 0, 0
	for _, file := range writers {
		for _, w := range file {
			n, size = n+len(w.labels), size+len(w.bytes)
		}
	}
	s.Bytes, s.Labels, s.Owner = make([]uint8, 0, size), make([]int32, 0, n), make([]int32, 0, n)
	for i := range writers {
		for _, w := range writers[i] {
			number, known := numbers[w.name]
			if !known {
				number = int32(len(numbers))
				numbers[w.name] = number
			}
			s.Bytes, s.Labels = append(s.Bytes, w.bytes...), append(s.Labels, w.labels...)
			s.Owner = append(s.Owner, slices.Repeat([]int32{number}, len(w.labels))...)
		}
		writers[i] = nil // free what has been copied
	}
	return nil
}

func readWriterFile[X, Y any](name string, form leafForm[X, Y]) ([]writer, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if err := room.For(float64(info.Size())); err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	writers, err := readLEAF(file, form)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return writers, nil
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

// text is a string that refuses everything else.
type text string

// UnmarshalJSON fails unless b is a string.
func (t *text) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return fmt.Errorf("%.20s: must be a string", b)
	}
	return json.Unmarshal(b, (*string)(t))
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
