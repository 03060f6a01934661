package datasets

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// idxFile is one published file: its name without .gz, what it holds, and the SHA-256 of its uncompressed content,
// which stays the same however the file was compressed.
type idxFile struct {
	name   string
	dims   []int
	sha256 string
}

// find returns the path of the file in a folder, gzipped or not, or "".
func (f *idxFile) find(folder string) string {
	for _, name := range []string{f.name + ".gz", f.name} {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// read returns the values of the file at path. It fails where the content is not, byte for byte, the published one.
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
	r, err := gunzip(r)
	if err != nil {
		return nil, err
	}
	content, err := readIDX(r, f.dims)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if found := hex.EncodeToString(sum[:]); found != f.sha256 {
		return nil, fmt.Errorf("has content with SHA-256 %s: the published file's is %s", found, f.sha256)
	}
	return content[idxHeaderSize(f.dims):], nil
}

// gunzip decompresses what is gzipped and passes on what is not. An idx file begins with 00 00, a gzip one with 1f 8b.
func gunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, err := b.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // a read error comes again at the first read
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("is not a gzip file: %w", err)
	}
	return z, nil
}
