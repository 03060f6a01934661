package datasets

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/sbinet/npyio/npy"
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
		return inArchive{r, archive}, nil
	}
	archive.Close()
	return nil, fmt.Errorf("%s.npz has no array %q: must be named after a colon, one of %s", name, member, shortList(names))
}

// inArchive closes the archive too.
type inArchive struct {
	io.ReadCloser
	archive io.Closer
}

func (m inArchive) Close() error { return errors.Join(m.ReadCloser.Close(), m.archive.Close()) }

// longestHeader is far more than NumPy writes, in bytes.
const longestHeader = 1 << 16

// readNPY reads one array. What is allocated depends on the values that are there, not on what the header says of them.
func readNPY(file io.Reader) (a *array, err error) {
	defer func() {
		if p := recover(); p != nil { // npy trusts what it reads
			a, err = nil, fmt.Errorf("is damaged: %v", p)
		}
	}()
	unpacked, err := gunzip(file)
	if err != nil {
		return nil, err
	}
	b := bufio.NewReaderSize(unpacked, 1<<16)
	if head, _ := b.Peek(12); len(head) == 12 && head[6] == 2 && binary.LittleEndian.Uint32(head[8:]) > longestHeader {
		return nil, fmt.Errorf("has a header of %d bytes: must be at most %d", binary.LittleEndian.Uint32(head[8:]), longestHeader)
	}
	r, err := npy.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("is not an NPY file: %w", err)
	}
	h := r.Header.Descr
	n, err := size(h.Shape)
	if err != nil {
		return nil, err
	}
	t := npy.TypeFrom(h.Type)
	if t == nil || t.Kind() > reflect.Float64 {
		return nil, fmt.Errorf("holds values of type %s: must be bool, int, uint, float32 or float64", h.Type)
	}
	values, err := readValues(r, t, n)
	if err != nil {
		return nil, err
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return nil, fmt.Errorf("continues after its %d values: nothing may follow", n)
	}
	return &array{shape: h.Shape, strides: laidOut(h.Shape, h.Fortran), values: values}, nil
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
func readValues(r *npy.Reader, t reflect.Type, n int) (reflect.Value, error) {
	const most = 1 << 16 // values at a time
	all := reflect.MakeSlice(reflect.SliceOf(t), 0, min(n, most))
	buffer := reflect.MakeSlice(all.Type(), min(n, most), min(n, most))
	piece := reflect.New(all.Type())
	for all.Len() < n {
		piece.Elem().Set(buffer.Slice(0, min(most, n-all.Len())))
		if err := r.Read(piece.Interface()); err != nil {
			return all, fmt.Errorf("ends before its %d values are complete: %w", n, err)
		}
		all = reflect.AppendSlice(all, piece.Elem())
	}
	return all, nil
}
