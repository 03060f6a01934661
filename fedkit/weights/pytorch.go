package weights

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path"

	"fedkit.example/fedkit"
)

// PyTorch's format since 1.6: a zip file, in which nothing is compressed, with the folder of its name; in that data.pkl, the pickle of
// a dictionary, data/0, data/1, …, the storages, and byteorder.

// torchArrays returns the tensors of a state dict in a file of a given size.
func torchArrays(file io.ReaderAt, size int64) (map[string]array, error) {
	z, err := zip.NewReader(file, size)
	if err != nil {
		return nil, err
	}
	files, root := map[string]*zip.File{}, ""
	for _, f := range z.File {
		if files[f.Name] = f; path.Base(f.Name) == "data.pkl" {
			root = path.Dir(f.Name)
		}
	}
	entry := func(name string, want int64) ([]byte, error) {
		f := files[root+"/"+name]
		switch {
		case f == nil:
			return nil, fedkit.Invalid("zip", "no "+name, "a file of torch.save")
		case f.Method != zip.Store || f.UncompressedSize64 > uint64(size):
			return nil, fedkit.Invalid("zip: "+name, fmt.Sprintf("%d bytes by method %d", f.UncompressedSize64, f.Method), "stored as it is, as torch.save does")
		case want >= 0 && f.UncompressedSize64 != uint64(want):
			return nil, fedkit.Invalid("zip: "+name, fmt.Sprintf("%d bytes", f.UncompressedSize64), fmt.Sprintf("%d, as its tensors say", want))
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		b, err := io.ReadAll(io.LimitReader(r, size))
		if err == nil && uint64(len(b)) != f.UncompressedSize64 {
			err = io.ErrUnexpectedEOF
		}
		return b, err
	}
	if files[root+"/byteorder"] != nil {
		if order, err := entry("byteorder", -1); err != nil || string(order) != "little" {
			return nil, fedkit.Invalid("byteorder", fmt.Sprintf("%q", order), "little")
		}
	}
	pickle, err := entry("data.pkl", -1)
	if err != nil {
		return nil, err
	}
	arrays, err := unpickle(pickle)
	for name, a := range arrays {
		a.load = func() ([]byte, error) { return entry("data/"+a.key, int64(a.n)*sizes[a.dtype]) }
		arrays[name] = a
	}
	return arrays, err
}

// arraysOf returns the tensors of a file of either format, which its first bytes tell.
func arraysOf(f *os.File) (map[string]array, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	first := make([]byte, 4)
	_, _ = f.ReadAt(first, 0) // an error follows
	switch string(first) {
	case "PK\x03\x04":
		return torchArrays(f, info.Size())
	case "\x80\x02\x8a\x0a": // no safetensors: its header would be too long
		return nil, fedkit.Invalid("file", "a pickle", "safetensors, or a zip file as torch.save writes since PyTorch 1.6")
	}
	r, err := read(f, info.Size())
	if err != nil {
		return nil, err
	}
	return r.arrays(), nil
}
