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
	data    io.ReaderAt
}

// read reads and checks the header of a file with size bytes.
func read(file io.ReaderAt, size int64) (*reader, error) {
	var length [8]byte
	if size < 8 {
		return nil, fedkit.Invalid("file", fmt.Sprintf("%d bytes", size), "a safetensors file: at least 8")
	}
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if most := min(maxHeader, uint64(size-8)); n > most {
		return nil, fedkit.Invalid("length of the header", n, fmt.Sprintf("that of a safetensors file: at most %d", most))
	}
	if err := room.For(12 * float64(n)); err != nil { // names are copied
		return nil, fmt.Errorf("header: %w", err)
	}
	header := make([]byte, n)
	if _, err := file.ReadAt(header, 8); err != nil && n > 0 {
		return nil, err
	}
	begin := 8 + int64(n)
	r := &reader{tensors: map[string]tensor{}, data: io.NewSectionReader(file, begin, size-begin)}
	if err := r.parse(header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return r, r.check(size - begin)
}

func (r *reader) parse(header []byte) error {
	if len(header) == 0 || header[0] != '{' {
		return fedkit.Invalid("its first byte", fmt.Sprintf("%q", header[:min(1, len(header))]), "{")
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(header, &all); err != nil {
		return err
	}
	if meta, ok := all[metadata]; ok {
		if err := json.Unmarshal(meta, &r.meta); err != nil {
			return fmt.Errorf("%s: %w", metadata, err)
		}
		delete(all, metadata)
	}
	for name, text := range all {
		var t tensor
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		r.tensors[name] = t
	}
	return nil
}

// check refuses tensors that overlap, leave a gap, are not as long as their shape says, or do not end with the data.
func (r *reader) check(size int64) error {
	names := slices.SortedFunc(maps.Keys(r.tensors), func(a, b string) int {
		one, other := r.tensors[a].Offsets, r.tensors[b].Offsets
		return slices.Compare(one[:], other[:])
	})
	at := int64(0)
	for _, name := range names {
		t := r.tensors[name]
		if begin, end := t.Offsets[0], t.Offsets[1]; begin != at || end < begin || end > size {
			return fedkit.Invalid(fmt.Sprintf("tensor %q: data_offsets", name), t.Offsets, fmt.Sprintf("[%d, …] and end by %d", at, size))
		}
		at = t.Offsets[1]
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
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

// fits refuses a tensor that does not fit into memory the given number of times.
func (t tensor) fits(times float64) error {
	if err := room.For(times * float64(t.Offsets[1]-t.Offsets[0])); err != nil {
		return fmt.Errorf("a tensor of shape %v %w", t.Shape, err)
	}
	return nil
}

// len returns the number of values.
func (t tensor) len() int { return int((t.Offsets[1] - t.Offsets[0]) / sizes[t.DType]) }

// has refuses a file without a tensor of this name, type and shape.
func (r *reader) has(name, dtype string, shape ...int) error {
	t, ok := r.tensors[name]
	switch {
	case !ok:
		return fedkit.Invalid("tensor", fmt.Sprintf("no %q", name), "there")
	case t.DType != dtype:
		return fedkit.Invalid(fmt.Sprintf("tensor %q: dtype", name), t.DType, dtype)
	case !slices.Equal(t.Shape, shape):
		return fedkit.Invalid(fmt.Sprintf("tensor %q: shape", name), t.Shape, fmt.Sprint(shape))
	}
	return nil
}

// take reads the values of a tensor that is there.
func take[T number](r *reader, name string, values []T) error {
	t := r.tensors[name]
	delete(r.tensors, name)
	return binary.Read(io.NewSectionReader(r.data, t.Offsets[0], t.Offsets[1]-t.Offsets[0]), binary.LittleEndian, values)
}

// arrays returns the tensors as another program's.
func (r *reader) arrays() map[string]array {
	all := map[string]array{}
	for name, t := range r.tensors {
		all[name] = array{dtype: t.DType, shape: t.Shape, stride: contiguous(t.Shape), load: func() ([]byte, error) {
			if err := t.fits(1); err != nil {
				return nil, err
			}
			b := make([]byte, t.Offsets[1]-t.Offsets[0])
			_, err := r.data.ReadAt(b, t.Offsets[0])
			return b, err
		}}
	}
	return all
}

// done refuses a file with tensors that were not taken.
func (r *reader) done() error {
	if len(r.tensors) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(r.tensors)))
	return fedkit.Invalid("tensor", fmt.Sprintf("%q", first), "a parameter of the task's model")
}
