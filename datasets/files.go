package datasets

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// idxFile is one published file: its name without .gz, what it holds, and a published SHA-256. The SHA-256 of the
// uncompressed content does not depend on how the file was compressed. If only that of the .gz is published, only that
// very .gz will do.
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
	if f.sha256 == "" {
		r = io.TeeReader(r, packed)
	}
	r, err := gunzip(r)
	if err != nil {
		return nil, err
	}
	content, err := readIDX(r, f.dims)
	if err != nil {
		return nil, err
	}
	if f.sha256 == "" {
		if found := hex.EncodeToString(packed.Sum(nil)); found != f.gz {
			return nil, fmt.Errorf("has SHA-256 %s: the published %s.gz has %s", found, f.name, f.gz)
		}
		return content[idxHeaderSize(f.dims):], nil
	}
	sum := sha256.Sum256(content)
	if found := hex.EncodeToString(sum[:]); found != f.sha256 {
		return nil, fmt.Errorf("has content with SHA-256 %s: the published file's is %s", found, f.sha256)
	}
	return content[idxHeaderSize(f.dims):], nil
}

// gunzip decompresses r if it is gzipped. An idx file begins with 00 00, a gzip file with 1f 8b.
func gunzip(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, err := b.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // a read error returns at the next read
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("is not a gzip file: %w", err)
	}
	return z, nil
}
