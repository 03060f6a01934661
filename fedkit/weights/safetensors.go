package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
)

// The safetensors format: the length of the header in 8 bytes, little endian; the header, JSON with the type, shape and offsets
// of each tensor; the data, which the tensors cover without gap or overlap.
// https://huggingface.co/docs/safetensors

// maxHeader is the format's limit on the length of a header.
const maxHeader = 100_000_000

// metadata is the header's key for what belongs to no tensor.
const metadata = "__metadata__"

// tensor is a tensor's entry in the header.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // from the beginning of the data

	data []byte // of a file that was read
}

// sizes of the types of values.
var sizes = map[string]int64{"F32": 4, "F64": 8, "I32": 4, "F16": 2, "BF16": 2, "F8_E5M2": 1, "F8_E4M3": 1,
	"I64": 8, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}

// number is a type of values.
type number interface{ float32 | float64 | int32 }

// dtypeOf returns the name of a type of values.
func dtypeOf[T number]() string {
	return map[reflect.Kind]string{reflect.Float32: "F32", reflect.Float64: "F64", reflect.Int32: "I32"}[reflect.TypeFor[T]().Kind()]
}

// writer lays out a file before writing it.
type writer struct {
	header map[string]any
	end    int64                   // of the data so far
	data   []func(io.Writer) error // in the order of the offsets
}

// add adds a tensor, whose values come next in the data.
func add[T number](w *writer, name string, values []T, shape ...int) {
	begin := w.end
	w.end += int64(binary.Size(values))
	w.header[name] = tensor{DType: dtypeOf[T](), Shape: append([]int{}, shape...), Offsets: [2]int64{begin, w.end}}
	w.data = append(w.data, func(to io.Writer) error {
		for some := range slices.Chunk(values, 1<<16) { // binary.Write copies them
			if err := binary.Write(to, binary.LittleEndian, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// write writes the file. The data begins at a multiple of 8 bytes.
func (w *writer) write(to io.Writer) error {
	header, err := json.Marshal(w.header)
	if err != nil {
		return err
	}
	header = append(header, strings.Repeat(" ", (8-len(header)%8)%8)...)
	if len(header) > maxHeader {
		return fedkit.Invalid("header", fmt.Sprintf("%d bytes", len(header)), fmt.Sprintf("at most %d: the names of fewer tensors", maxHeader))
	}
	if _, err := to.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)); err != nil {
		return err
	}
	for _, values := range w.data {
		if err := values(to); err != nil {
			return err
		}
	}
	return nil
}

// reader holds the tensors of a file that have not been taken yet.
type reader struct {
	tensors map[string]tensor
	meta    map[string]string
}

// read returns the tensors of a file, whose bytes they share.
func read(file []byte) (*reader, error) {
	if len(file) < 8 {
		return nil, fedkit.Invalid("file", fmt.Sprintf("%d bytes", len(file)), "a safetensors file: at least 8")
	}
	n, file := binary.LittleEndian.Uint64(file), file[8:]
	if most := min(maxHeader, uint64(len(file))); n > most {
		return nil, fedkit.Invalid("length of the header", n, fmt.Sprintf("that of a safetensors file: at most %d", most))
	}
	r := &reader{tensors: map[string]tensor{}}
	if err := r.parse(file[:n]); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return r, r.cut(file[n:])
}

func (r *reader) parse(header []byte) error {
	if len(header) == 0 || header[0] != '{' {
		return fedkit.Invalid("its first byte", fmt.Sprintf("%q", header[:min(1, len(header))]), "{")
	}
	if err := room.For(12 * float64(len(header))); err != nil { // names are copied
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(header, &all); err != nil {
		return err
	}
	for name, text := range all {
		var t tensor
		if name == metadata {
			if err := json.Unmarshal(text, &r.meta); err != nil {
				return fmt.Errorf("%s: %w", metadata, err)
			}
			continue
		}
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		r.tensors[name] = t
	}
	return nil
}

// cut gives the tensors their data. It refuses tensors that overlap, leave a gap, are not as long as their shape says, or do not end with
// the data.
func (r *reader) cut(data []byte) error {
	names := slices.SortedFunc(maps.Keys(r.tensors), func(a, b string) int {
		one, other := r.tensors[a].Offsets, r.tensors[b].Offsets
		return slices.Compare(one[:], other[:])
	})
	at, size := int64(0), int64(len(data))
	for _, name := range names {
		t := r.tensors[name]
		if begin, end := t.Offsets[0], t.Offsets[1]; begin != at || end < begin || end > size {
			return fedkit.Invalid(fmt.Sprintf("tensor %q: data_offsets", name), t.Offsets, fmt.Sprintf("[%d, …] and end by %d", at, size))
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		t.data, at = data[at:t.Offsets[1]], t.Offsets[1]
		r.tensors[name] = t
	}
	if at != size {
		return fedkit.Invalid("data", fmt.Sprintf("%d bytes", size), fmt.Sprintf("%d, where the last tensor ends", at))
	}
	return nil
}

// check compares the length of the data with the shape, without overflow.
func (t tensor) check() error {
	size, known := sizes[t.DType]
	if !known {
		return fedkit.Invalid("dtype", t.DType, "one of "+strings.Join(slices.Sorted(maps.Keys(sizes)), ", "))
	}
	length, fits := t.Offsets[1]-t.Offsets[0], true
	for _, d := range t.Shape {
		fits = fits && d >= 0 && (d == 0 || size <= length/int64(d))
		size *= int64(d)
	}
	if !fits || size != length {
		return fedkit.Invalid("shape", t.Shape, fmt.Sprintf("%d bytes of %s", length, t.DType))
	}
	return nil
}

// take returns the values of a tensor, which must have this type and shape.
func take[T number](r *reader, name string, shape ...int) ([]T, error) {
	t, ok := r.tensors[name]
	switch dtype := dtypeOf[T](); {
	case !ok:
		return nil, fedkit.Invalid("tensor", fmt.Sprintf("no %q", name), "there")
	case t.DType != dtype:
		return nil, fedkit.Invalid(fmt.Sprintf("tensor %q: dtype", name), t.DType, dtype)
	case !slices.Equal(t.Shape, shape):
		return nil, fedkit.Invalid(fmt.Sprintf("tensor %q: shape", name), t.Shape, fmt.Sprint(shape))
	}
	delete(r.tensors, name)
	values := make([]T, len(t.data)/int(sizes[t.DType]))
	_, err := binary.Decode(t.data, binary.LittleEndian, values)
	return values, err
}

// done refuses a file with tensors that were not taken.
func (r *reader) done() error {
	if len(r.tensors) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(r.tensors)))
	return fedkit.Invalid("tensor", fmt.Sprintf("%q", first), "a parameter of the task's model")
}
