package datasets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"fedkit.example/datasets/room"
)

// idxFile is one published file: its name without .gz, its dimensions, and a published SHA-256. The SHA-256 of the
// uncompressed content does not depend on how the file was compressed. If only that of the .gz is published, only that
// very .gz will do. Without either only the dimensions are checked.
type idxFile struct {
	name   string
	dims   []int
	sha256 string // of the uncompressed content
	gz     string // of the .gz; used if sha256 is ""
}

// in returns where to look for the file and where to download it, for a data set with this folder and these mirrors.
func (f *idxFile) in(folder string, mirrors []string) *source {
	s := &source{
		what: f.name + " (nor .gz)", folder: folder, name: f.name + ".gz",
		find: func(root string) string {
			return firstFile(filepath.Join(root, folder, f.name+".gz"), filepath.Join(root, folder, f.name))
		},
		// A compressed file is never much longer than its content.
		limit: int64(idxSize(f.dims)) + 1<<20,
		check: func(r io.Reader) error { _, err := f.decode(r); return err },
	}
	for _, mirror := range mirrors {
		s.urls = append(s.urls, mirror+f.name+".gz")
	}
	return s
}

// firstFile returns the first of the paths that is a regular file, or "".
func firstFile(paths ...string) string {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// read returns the values of the file at path. It fails unless the content is the published one, byte for byte.
func (f *idxFile) read(path string) ([]uint8, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values, err := f.decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return values, nil
}

func (f *idxFile) decode(r io.Reader) ([]uint8, error) {
	packed := sha256.New()
	r, err := gunzip(io.TeeReader(r, packed))
	if err != nil {
		return nil, err
	}
	content, err := readIDX(r, f.dims)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	switch file, inside := hex.EncodeToString(packed.Sum(nil)), hex.EncodeToString(sum[:]); {
	case f.sha256 == "" && f.gz != "" && file != f.gz:
		return nil, fmt.Errorf("has SHA-256 %s: the published %s.gz has %s", file, f.name, f.gz)
	case f.sha256 != "" && inside != f.sha256:
		return nil, fmt.Errorf("has content with SHA-256 %s: the published file's is %s", inside, f.sha256)
	}
	return content[idxHeaderSize(f.dims):], nil
}

// idxUint8 is the type byte of an idx file that holds unsigned bytes.
const idxUint8 = 0x08

// idxHeaderSize returns the length of the header in bytes: two zeros, the type, the number of dimensions, and each
// dimension as a big-endian uint32.
func idxHeaderSize(dims []int) int { return 4 + 4*len(dims) }

// idxSize returns the length in bytes of an idx file of unsigned bytes.
func idxSize(dims []int) int {
	values := 1
	for _, n := range dims {
		values *= n
	}
	return idxHeaderSize(dims) + values
}

// readIDX reads an idx file that must hold unsigned bytes of exactly these dimensions, and returns its whole content,
// header included. No byte may be missing, and none may follow. What is allocated depends on dims alone, never on the
// file.
func readIDX(r io.Reader, dims []int) ([]byte, error) {
	size := idxSize(dims)
	if err := room.For(float64(size)); err != nil {
		return nil, err
	}
	content := make([]byte, size)
	header, values := content[:idxHeaderSize(dims)], content[idxHeaderSize(dims):]
	if n, err := io.ReadFull(r, header); err != nil {
		return nil, short(err, n, size)
	}
	if err := checkIDXHeader(header, dims); err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r, values); err != nil {
		return nil, short(err, len(header)+n, size)
	}
	if err := ended(r, size); err != nil {
		return nil, err
	}
	return content, nil
}

// checkIDXHeader checks a header of the right length.
func checkIDXHeader(h []byte, dims []int) error {
	switch {
	case h[0] != 0 || h[1] != 0:
		return fmt.Errorf("is not an idx file: begins with % x, not 00 00", h[:2])
	case h[2] != idxUint8:
		return fmt.Errorf("holds values of type 0x%02x: must be 0x%02x (unsigned bytes)", h[2], idxUint8)
	case int(h[3]) != len(dims):
		return fmt.Errorf("has %d dimensions: must have %d", h[3], len(dims))
	}
	found := make([]uint32, len(dims))
	binary.Decode(h[4:], binary.BigEndian, found) // h is long enough
	if !slices.EqualFunc(found, dims, func(a uint32, b int) bool { return int(a) == b }) {
		return fmt.Errorf("has dimensions %v: must be %v", found, dims)
	}
	return nil
}

// short is the error of a read that stopped after n of size bytes.
func short(err error, n, size int) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("ends after %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("unreadable after %d of %d bytes: %w", n, size, err)
}

// ended checks that nothing follows after size bytes.
func ended(r io.Reader, size int) error {
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("continues after its %d bytes: nothing may follow", size)
	case err != io.EOF: // such as a wrong gzip checksum
		return err
	}
	return nil
}
