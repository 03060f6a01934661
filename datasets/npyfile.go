package datasets

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/datasets/internal/columns"
	"fedkit.example/datasets/room"
)

// openArray reads an NPY file, gzipped or not, or an array of an NPZ archive.
func openArray(path string) (*array, error) {
	file, err := openMember(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer file.Close()
	a, err := readNPY(file)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s %w", path, err)
	}
	a.path = path
	return a, nil
}

// openMember opens a file, or an array of an archive: "mnist.npz:x_train".
func openMember(path string) (io.ReadCloser, error) {
	name, member, isMember := strings.Cut(path, ".npz:")
	if whole, isArchive := strings.CutSuffix(path, ".npz"); isArchive {
		name, isMember = whole, true
	}
	if !isMember {
		return os.Open(path)
	}
	archive, err := zip.OpenReader(name + ".npz")
	if err != nil {
		return nil, fmt.Errorf("%s.npz: %w", name, err)
	}
	info, err := os.Stat(name + ".npz")
	if err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	var names []string
	for _, f := range archive.File {
		own := strings.TrimSuffix(f.Name, ".npy")
		if own != member {
			names = append(names, own)
			continue
		}
		r, err := f.Open()
		if err != nil {
			archive.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		packed := min(int64(f.CompressedSize64), info.Size())
		return inArchive{&unpacked{counter{Reader: r}, func() int64 { return packed }}, r, archive}, nil
	}
	archive.Close()
	return nil, fmt.Errorf("%s.npz has no array %s: must be named after a colon, one of %s", name, columns.Quote(member), columns.List(names))
}

// inArchive closes the archive, too.
type inArchive struct {
	io.Reader
	member, archive io.Closer
}

func (m inArchive) Close() error { return errors.Join(m.member.Close(), m.archive.Close()) }

// npyMagic begins every NPY file.
const npyMagic = "\x93NUMPY"

// longestHeader is the limit, in bytes, far above what NumPy writes.
const longestHeader = 1 << 16

// npyHeader is the dictionary that comes before the values of an array that is not made of records.
var npyHeader = regexp.MustCompile(`^\{ *'descr': *'([<>|=]?)([^']{1,20})', *'fortran_order': *(True|False), *'shape': *\(([0-9, ]*)\),? *\}\s*$`)

// npyTypes are the types of values, by NumPy's type codes without byte order.
var npyTypes = map[string]reflect.Type{
	"b1": reflect.TypeFor[bool](), "?": reflect.TypeFor[bool](), "f4": reflect.TypeFor[float32](), "f8": reflect.TypeFor[float64](),
	"i1": reflect.TypeFor[int8](), "i2": reflect.TypeFor[int16](), "i4": reflect.TypeFor[int32](), "i8": reflect.TypeFor[int64](),
	"u1": reflect.TypeFor[uint8](), "u2": reflect.TypeFor[uint16](), "u4": reflect.TypeFor[uint32](), "u8": reflect.TypeFor[uint64](),
}

// readNPY reads one array. What is allocated depends on the values present, not on the header's claims.
func readNPY(file io.Reader) (*array, error) {
	unpacked, err := gunzip(file)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(unpacked, 1<<16)
	if magic, _ := b.Peek(len(npyMagic)); string(magic) != npyMagic {
		return nil, cmp.Or(isOther(b, "an NPY file"), errors.New("is not an NPY file"))
	}
	header, err := readHeader(b)
	if err != nil {
		return nil, err
	}
	found := npyHeader.FindStringSubmatch(header)
	if found == nil {
		return nil, fmt.Errorf("is damaged, or holds no plain array: its header is %s", columns.Quote(header))
	}
	t := npyTypes[found[2]]
	if t == nil {
		return nil, fmt.Errorf("holds values of type %s: must be bool, int, uint, float32 or float64", found[1]+found[2])
	}
	shape, n, err := readShape(found[4])
	if err != nil {
		return nil, err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if found[1] == ">" {
		order = binary.BigEndian
	}
	values, err := readValues(b, order, t, n)
	if err != nil {
		return nil, err
	}
	if _, err := b.ReadByte(); err == nil {
		return nil, fmt.Errorf("continues after its %d values: nothing may follow", n)
	} else if err != io.EOF { // such as a wrong checksum
		return nil, err
	}
	return &array{shape: shape, strides: stridesOf(shape, found[3] == "True"), values: values}, nil
}

// readHeader returns the text between the magic and the values.
func readHeader(b *bufio.Reader) (string, error) {
	var err error
	read := func(n int) []byte {
		p := make([]byte, n)
		if _, failed := io.ReadFull(b, p); failed != nil {
			err = errors.New("ends in its header")
		}
		return p
	}
	version := read(len(npyMagic) + 2)[len(npyMagic)]
	if err == nil && (version < 1 || version > 3) {
		return "", fmt.Errorf("is an NPY file of version %d: must be one of version 1, 2 or 3", version)
	}
	low, high := read(2), []byte{0, 0} // bytes of the length, of which the first version has two
	if version > 1 {
		high = read(2)
	}
	n := binary.LittleEndian.Uint32(append(low, high...))
	if err == nil && n > longestHeader {
		return "", fmt.Errorf("has a header of %d bytes: must be at most %d", n, longestHeader)
	}
	return string(read(int(min(n, longestHeader)))), err
}

// readShape reads dimensions such as "5, 3", and returns their product too.
func readShape(words string) (shape []int, n int, err error) {
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return r == ',' || r == ' ' }) {
		k, err := strconv.Atoi(word)
		if err != nil {
			k = math.MaxInt
		}
		if shape = append(shape, k); len(shape) > 64 {
			return nil, 0, errors.New("has more than 64 dimensions: NumPy allows no more")
		}
	}
	n, err = size(shape)
	return shape, n, err
}

// size returns the number of values in an array.
func size(shape []int) (int, error) {
	n := 1
	for _, k := range shape {
		if k < 1 || k > maxValues/n {
			return 0, fmt.Errorf("has shape %v: every dimension must be at least 1, and all together at most %d values", shape, maxValues)
		}
		n *= k
	}
	return n, nil
}

// readValues returns a slice of n values of a type.
func readValues(r io.Reader, order binary.ByteOrder, t reflect.Type, n int) (reflect.Value, error) {
	const most = 1 << 16 // values at a time
	all := reflect.MakeSlice(reflect.SliceOf(t), 0, min(n, most))
	buffer := reflect.MakeSlice(all.Type(), min(n, most), min(n, most))
	for all.Len() < n {
		if all.Len() == most { // no more is allocated for a file that only claims to have as many; a list that grows is copied
			if err := room.For(2.25 * float64(n) * float64(t.Size())); err != nil {
				return all, fmt.Errorf("has %d values and %w", n, err)
			}
		}
		piece := buffer.Slice(0, min(most, n-all.Len()))
		if err := binary.Read(r, order, piece.Interface()); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return all, fmt.Errorf("ends before its %d values are complete: %w", n, err)
		}
		all = reflect.AppendSlice(all, piece)
	}
	return all, nil
}

// array is the content of an NPY file.
type array struct {
	path    string
	shape   []int
	strides []int         // of each dimension in values
	values  reflect.Value // a slice of the file's type
}

// stridesOf returns the strides of an array in C or Fortran order.
func stridesOf(shape []int, fortran bool) []int {
	strides, step := make([]int, len(shape)), 1
	for k := range shape {
		if !fortran {
			k = len(shape) - 1 - k
		}
		strides[k] = step
		step *= shape[k]
	}
	return strides
}

// images moves channels last, and returns the shape of an example.
func (a *array) images(channelsFirst bool) ([]int, error) {
	switch dims := len(a.shape); {
	case channelsFirst && dims != 4:
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [n, channels, height, width], for ChannelsFirst", a.path, a.shape)
	case dims == 3:
		return append(slices.Clone(a.shape[1:]), 1), nil
	case dims != 2 && dims != 4:
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [n, f], [n, height, width] or [n, height, width, channels]", a.path, a.shape)
	}
	if !channelsFirst && len(a.shape) == 4 && hasChannelsFirst(a.shape[1:]) {
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [n, height, width, channels], or set ChannelsFirst for [n, channels, height, width], as PyTorch has images", a.path, a.shape)
	}
	if channelsFirst {
		last := func(list []int) []int { return []int{list[0], list[2], list[3], list[1]} }
		a.shape, a.strides = last(a.shape), last(a.strides)
	}
	return a.shape[1:], nil
}

// hasChannelsFirst reports whether examples are plainly images [channels, height, width]: as [height, width, channels] they would be a
// strip 1, 3 or 4 pixels high that has about as many channels as it is wide, at least 8. What is truly such a strip can be read with
// its axes moved, and ChannelsFirst.
func hasChannelsFirst(shape []int) bool {
	least, most := min(shape[1], shape[2]), max(shape[1], shape[2])
	return slices.Contains([]int{1, 3, 4}, shape[0]) && least >= 8 && most < 2*least
}

// fill sets the features of a part, row after row, times scale; 0: the default.
func (a *array) fill(s *Split, scale float32) (err error) {
	if bytes, ok := a.values.Interface().([]uint8); ok {
		s.Bytes, s.Scale = rowMajor(bytes, a.shape, a.strides), cmp.Or(scale, 1.0/255)
		return nil
	}
	s.Floats, err = a.floats()
	if scale := cmp.Or(scale, 1); scale != 1 {
		for i := range s.Floats {
			s.Floats[i] *= scale
		}
	}
	return err
}

// along reads an array with one value per row of this one, or perhaps several.
func (a *array) along(path string, several bool) (*array, error) {
	b, err := openArray(path)
	if err != nil {
		return nil, err
	}
	n, more := a.shape[0], ""
	if several {
		more = fmt.Sprintf(", or [%d, t]", n)
	}
	if !slices.Equal(b.shape, []int{n}) && !slices.Equal(b.shape, []int{n, 1}) && !(several && len(b.shape) == 2 && b.shape[0] == n) {
		return nil, fmt.Errorf("datasets: %s has shape %v: must be [%d], one value per row of %s%s", b.path, b.shape, n, a.path, more)
	}
	return b, nil
}

func (a *array) isFloat() bool { return a.values.Type().Elem().Kind() >= reflect.Float32 }

// floats returns the values in C order. All must be finite.
func (a *array) floats() ([]float32, error) {
	v, ok := a.values.Interface().([]float32)
	if !ok {
		v = make([]float32, a.values.Len())
		for i := range v {
			v[i] = float32(a.at(i))
		}
	}
	v = rowMajor(v, a.shape, a.strides)
	if i := slices.IndexFunc(v, notFinite); i >= 0 {
		f := len(v) / a.shape[0]
		return nil, fmt.Errorf("datasets: %s: row %d, value %d is %v: must be a finite float32", a.path, i/f, i%f, v[i])
	}
	return v, nil
}

// whole returns whole numbers in [least, end), in C order.
func (a *array) whole(least, end int) ([]int32, error) {
	all := make([]float64, a.values.Len())
	for i := range all {
		all[i] = a.at(i)
	}
	v := make([]int32, len(all))
	for i, x := range rowMajor(all, a.shape, a.strides) {
		if a.isFloat() || !(x >= float64(least) && x < float64(end)) {
			return nil, fmt.Errorf("datasets: %s: row %d is %v (%s): must be a whole number in [%d, %d)", a.path, i*a.shape[0]/len(all), x, a.values.Type().Elem(), least, end)
		}
		v[i] = int32(x)
	}
	return v, nil
}

// at returns the i-th value in memory.
func (a *array) at(i int) float64 {
	switch v := a.values.Index(i); {
	case v.CanFloat():
		return v.Float()
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.Bool():
		return 1
	}
	return 0
}

// rowMajor returns values in C order: the last dimension changes fastest.
func rowMajor[T any](values []T, shape, strides []int) []T {
	if slices.Equal(strides, stridesOf(shape, false)) {
		return values
	}
	ordered := make([]T, 0, len(values))
	var visit func(k, from int)
	visit = func(k, from int) {
		if k == len(shape) {
			ordered = append(ordered, values[from])
			return
		}
		for i := range shape[k] {
			visit(k+1, from+i*strides[k])
		}
	}
	visit(0, 0)
	return ordered
}
