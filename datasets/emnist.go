package datasets

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// EMNIST returns EMNIST's split by class: 697,932 training and 116,323 test images of 62 classes (0–9, A–Z, a–z), Shape
// [28 28 1], Bytes with Scale 1/255, so that a model sees [0, 1], light strokes (1) on black (0) as in MNIST. The rows
// are the official ones in the official order, and images stand upright: those of the files are transposed. The files
// do not tell the writers, as FEMNIST does, so that Owner is unknown.
//
// It reads the official archive gzip.zip, or the four files emnist-byclass-train-images-idx3-ubyte and so on, gzipped or
// not, as Loader describes, in the folder emnist. A download takes 562 MB. The archive must be the official one, byte for
// byte. No checksums are published for the four files: they must have the official sizes. The data set's Name is then
// "emnist (unverified)".
//
// Source: G. Cohen, S. Afshar, J. Tapson, A. van Schaik, EMNIST: an extension of MNIST to handwritten letters, arXiv
// 1702.05373, 2017.
func EMNIST() (*Dataset, error) {
	return new(Loader).EMNIST(context.Background())
}

// EMNIST is the function EMNIST with the loader's settings; ctx can stop a download.
func (l *Loader) EMNIST(ctx context.Context) (*Dataset, error) {
	return l.loadEMNIST(ctx, emnist())
}

const emnistArchive = "gzip.zip"

// emnistFiles are the images, and the archive that has them in the folder gzip.
type emnistFiles struct {
	images
	sha256 string // of the archive
	size   int64  // of the archive, in bytes
}

// The archive's size and SHA-256 are those that TensorFlow Datasets lists (url_checksums/emnist.txt).
func emnist() *emnistFiles {
	return &emnistFiles{
		images: images{
			name:    "emnist",
			shape:   []int{28, 28, 1},
			classes: 62,
			mirrors: []string{
				"https://biometrics.nist.gov/cs_links/EMNIST/",
				"https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/",
			},
			files: []idxFile{
				{name: "emnist-byclass-train-images-idx3-ubyte", dims: []int{697932, 28, 28}},
				{name: "emnist-byclass-train-labels-idx1-ubyte", dims: []int{697932}},
				{name: "emnist-byclass-test-images-idx3-ubyte", dims: []int{116323, 28, 28}},
				{name: "emnist-byclass-test-labels-idx1-ubyte", dims: []int{116323}},
			},
		},
		sha256: "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
		size:   561753746,
	}
}

func (l *Loader) loadEMNIST(ctx context.Context, e *emnistFiles) (*Dataset, error) {
	s := &source{
		what: emnistArchive + " (nor " + e.files[0].name + ")", folder: e.name, name: emnistArchive, limit: e.size,
		find: func(root string) string {
			first := e.files[0].in(e.name, nil).find(root)
			return firstFile(filepath.Join(root, e.name, emnistArchive), first)
		},
		check: func(r io.Reader) error { return checkSHA256(r, e.sha256) },
	}
	for _, mirror := range e.mirrors {
		s.urls = append(s.urls, mirror+emnistArchive)
	}
	found, err := l.locate(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", e.name, err)
	}
	values := make([][]uint8, len(e.files))
	verified := filepath.Base(found) == emnistArchive
	if verified {
		err = e.readArchive(found, values)
	} else {
		folder := filepath.Dir(found)
		err = parallel(len(e.files), func(i int) (err error) {
			name := filepath.Join(folder, e.files[i].name)
			values[i], err = e.files[i].read(cmp.Or(firstFile(name+".gz", name), name))
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w; replace or delete the file", e.name, err)
	}
	for _, pixels := range [][]uint8{values[0], values[2]} {
		transpose(pixels, e.shape[0])
	}
	d := e.dataset(values)
	if !verified {
		d.Name += " (unverified)"
	}
	return d, d.Check()
}

// readArchive reads the files from the archive. It checks the archive first, so that only the official one is unpacked.
func (e *emnistFiles) readArchive(name string, values [][]uint8) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := checkSHA256(file, e.sha256); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("%s is not a zip archive: %w", name, err)
	}
	defer archive.Close()
	return parallel(len(e.files), func(i int) error {
		entry, err := archive.Open("gzip/" + e.files[i].name + ".gz")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer entry.Close()
		if values[i], err = e.files[i].decode(entry); err != nil {
			return fmt.Errorf("%s: %s %w", name, e.files[i].name, err)
		}
		return nil
	})
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
