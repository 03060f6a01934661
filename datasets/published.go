package datasets

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fedkit.example/datasets/room"
	"github.com/klauspost/compress/gzip"
)

// load returns the data set of a row. Files of an archive, of which alone the checksum is known, are not verified.
func (l *Loader) load(ctx context.Context, p *published) (d *Dataset, err error) {
	if p.make != nil {
		return p.make(ctx, l)
	}
	paths, err := l.paths(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", p.name, err)
	}
	packed, files := filepath.Base(paths[0]) == p.archive.name, make([][]byte, len(p.files))
	if packed {
		files, err = p.unpack(paths[0])
	} else { // at the same time
		err = parallel(len(files), func(i int) (err error) {
			files[i], err = p.files[i].read(paths[i])
			return err
		})
	}
	if err == nil {
		d, err = p.read(p, files)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w; replace or delete the file", p.name, err)
	}
	d.Shape = slices.Clone(p.shape)
	if p.archive.name != "" && !packed {
		d.Name += " (unverified)"
	}
	return d, d.Check()
}

// paths returns where the archive is, or else the files.
func (l *Loader) paths(ctx context.Context, p *published) (paths []string, err error) {
	if p.archive.name == "" {
		for i := range p.files {
			path, err := l.locate(ctx, p.files[i].in(p.name, p.mirrors))
			if err != nil {
				return nil, err
			}
			paths = append(paths, path)
		}
		return paths, nil
	}
	found, err := l.locate(ctx, p.source())
	if err != nil || filepath.Base(found) == p.archive.name {
		return []string{found}, err
	}
	for _, f := range p.files {
		name := filepath.Join(filepath.Dir(found), f.name)
		paths = append(paths, cmp.Or(firstFile(name+".gz", name), name))
	}
	return paths, nil
}

// source is where the archive may be, or the files that it has.
func (p *published) source() *source {
	s := &source{what: p.archive.name, folder: p.name, name: p.archive.name, mirrors: p.mirrors, limit: p.archive.size, hint: p.hint,
		check: func(r io.Reader) error { return checkSHA256(r, p.archive.sha256) }}
	places, roots := []string{p.archive.name}, []string{p.name}
	if p.files != nil {
		first := p.files[0].name
		s.what += " (nor " + first + ")"
		places = append(places, filepath.Join(p.archive.folder, first), first+".gz", first)
	}
	if strings.HasPrefix(p.archive.name, p.name) { // otherwise it may be of anything
		roots = []string{"", p.name}
	}
	s.find = func(root string) string {
		for _, folder := range roots {
			for _, place := range places {
				if found := firstFile(filepath.Join(root, folder, place)); found != "" {
					return found
				}
			}
		}
		return ""
	}
	return s
}

// unpack returns the contents of the archive's files: those that are listed, or all that match, in the order of their paths. It checks the
// archive first, so that only the official one is unpacked.
func (p *published) unpack(name string) ([][]byte, error) {
	from, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if err := checkSHA256(from, p.archive.sha256); err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	files, seen := make([][]byte, len(p.files)), 0
	err = entries(from, func(entry string, r io.Reader) (err error) {
		folder, base := path.Split(entry)
		i := slices.IndexFunc(p.files, func(f file) bool { return f.name == strings.TrimSuffix(base, ".gz") })
		if matches, _ := path.Match(p.archive.folder, entry); matches && p.files == nil { // the pattern is right
			var content []byte
			content, err = io.ReadAll(r)
			files = append(files, content)
		} else if folder == p.archive.folder+"/" && i >= 0 {
			files[i], err = p.files[i].decode(r)
			seen++
		}
		if err != nil {
			err = fmt.Errorf(": %s %w", entry, err)
		}
		return err
	})
	if err == nil && seen != len(p.files) {
		err = fmt.Errorf(" holds %d of the %d files", seen, len(p.files))
	}
	if err != nil {
		return nil, fmt.Errorf("%s%w", name, err)
	}
	return files, nil
}

// entries visits the files of a zip archive, in the order of their paths, or of a gzipped tar archive.
func entries(from *os.File, visit func(name string, r io.Reader) error) error {
	size, err := from.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = from.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	if !strings.HasSuffix(from.Name(), ".tar.gz") {
		archive, err := zip.NewReader(from, size)
		if err != nil {
			return fmt.Errorf(" is not a zip archive: %w", err)
		}
		slices.SortFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
		for _, f := range archive.File {
			r, err := f.Open()
			if err != nil {
				return fmt.Errorf(" is damaged at %s: %w", f.Name, err)
			}
			err = visit(f.Name, r)
			r.Close()
			if err != nil {
				return err
			}
		}
		return nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(from, 1<<20))
	if err != nil {
		return fmt.Errorf(" is not a gzip file: %w", err)
	}
	for archive := tar.NewReader(z); ; {
		entry, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf(" is not a tar archive: %w", err)
		}
		if err := visit(entry.Name, archive); err != nil {
			return err
		}
	}
}

// checkSHA256 compares a file with the published one.
func checkSHA256(r io.Reader, published string) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != published {
		return fmt.Errorf("has SHA-256 %s: the published file has %s", found, published)
	}
	return nil
}

// in returns where to look for the file and where to download it, for a data set with this folder and these mirrors.
func (f *file) in(folder string, mirrors []string) *source {
	return &source{
		what: f.name + " (nor .gz)", folder: folder, name: f.name + ".gz", mirrors: mirrors,
		find: func(root string) string {
			return firstFile(filepath.Join(root, folder, f.name+".gz"), filepath.Join(root, folder, f.name))
		},
		// A compressed file is never much longer than its content.
		limit: int64(f.bytes()) + 1<<20,
		check: func(r io.Reader) error { _, err := f.decode(r); return err },
	}
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

// read returns the content of the file at path, without the header of an idx file. It fails unless it is the published one.
func (f *file) read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := f.decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return content, nil
}

func (f *file) decode(r io.Reader) ([]byte, error) {
	packed := sha256.New()
	r, err := gunzip(io.TeeReader(r, packed))
	if err != nil {
		return nil, err
	}
	content, err := f.all(r)
	if err != nil {
		return nil, err
	}
	switch file, inside := hex.EncodeToString(packed.Sum(nil)), sha256.Sum256; {
	case f.sha256 == "" && f.gz != "" && file != f.gz:
		return nil, fmt.Errorf("has SHA-256 %s: the published %s.gz has %s", file, f.name, f.gz)
	case f.sha256 != "" && fmt.Sprintf("%x", inside(content)) != f.sha256:
		return nil, fmt.Errorf("has content with SHA-256 %x: the published file's is %s", inside(content), f.sha256)
	}
	return content[f.header():], nil
}

// idxUint8 is the type byte of an idx file that holds unsigned bytes.
const idxUint8 = 0x08

// header returns the length of an idx file's header in bytes: two zeros, the type, the number of dimensions, and each dimension as a
// big-endian uint32.
func (f *file) header() int {
	if f.dims == nil {
		return 0
	}
	return 4 + 4*len(f.dims)
}

// bytes returns the length of the content.
func (f *file) bytes() int {
	if f.dims == nil {
		return f.size
	}
	values := 1
	for _, n := range f.dims {
		values *= n
	}
	return f.header() + values
}

// all reads the whole content. No byte may be missing, and none may follow, and an idx file must hold unsigned bytes of exactly its
// dimensions. What is allocated never depends on what is read.
func (f *file) all(r io.Reader) ([]byte, error) {
	if err := room.For(float64(f.bytes())); err != nil {
		return nil, err
	}
	content := make([]byte, f.bytes())
	n, err := io.ReadFull(r, content)
	if f.dims != nil && n >= f.header() {
		if wrong := checkIDXHeader(content[:f.header()], f.dims); wrong != nil {
			return nil, wrong
		}
	}
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("ends after %d of %d bytes: %w", n, len(content), io.ErrUnexpectedEOF)
	case err != nil:
		return nil, fmt.Errorf("unreadable after %d of %d bytes: %w", n, len(content), err)
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("continues after its %d bytes: nothing may follow", len(content))
	case err != io.EOF: // such as a wrong gzip checksum
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

// images makes a data set of idx files: training images, training labels, test images, test labels.
func images(p *published, files [][]byte) (*Dataset, error) {
	return &Dataset{Name: p.name, Classes: p.classes,
		Train: Split{Bytes: files[0], Scale: 1.0 / 255, Labels: asInt32(files[1])},
		Test:  Split{Bytes: files[2], Scale: 1.0 / 255, Labels: asInt32(files[3])},
	}, nil
}

// transposed is images whose rows are columns.
func transposed(p *published, files [][]byte) (*Dataset, error) {
	transpose(files[0], p.shape[0])
	transpose(files[2], p.shape[0])
	return images(p, files)
}

// transpose transposes images, [n, side, side], in place.
func transpose(pixels []uint8, side int) {
	for ; len(pixels) > 0; pixels = pixels[side*side:] {
		for i := range side {
			for j := range i {
				a, b := i*side+j, j*side+i
				pixels[a], pixels[b] = pixels[b], pixels[a]
			}
		}
	}
}
