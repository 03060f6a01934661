package datasets

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
)

// CIFAR10 returns CIFAR-10: 50,000 training and 10,000 test images of 10 classes (airplane, automobile, bird, cat,
// deer, dog, frog, horse, ship, truck), Shape [32 32 3], Bytes with Scale 1/127.5 and Shift −1, so that a model sees
// [−1, 1]. The rows are the official ones in the official order. Channels are last; the files have one color plane
// after another.
//
// It reads the official archive cifar-10-binary.tar.gz, or its six files in the folder cifar-10-batches-bin. Either may be
// directly under Loader's Cache or Data, or in the folder cifar-10 there. If neither exists, the archive is downloaded
// once, 170 MB. The archive must be the official one, byte for byte. No checksums are published for the six files: they
// must have the official sizes and the official number of images of each class. The data set's Name is then "cifar-10
// (unverified)", because the images may have been encoded again.
//
// Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009, chapter 3.
func CIFAR10() (*Dataset, error) {
	return new(Loader).CIFAR10(context.Background())
}

// CIFAR10 is the function CIFAR10 with the loader's settings; ctx can stop a download.
func (l *Loader) CIFAR10(ctx context.Context) (*Dataset, error) {
	return l.loadCIFAR(ctx, cifar10())
}

const (
	cifarFolder  = "cifar-10-batches-bin"
	cifarArchive = "cifar-10-binary.tar.gz"
	cifarPixels  = 32 * 32
	cifarRow     = 1 + 3*cifarPixels // a label, then the red, green and blue plane
	cifarClasses = 10
)

// cifarFiles has the training files in order, then the test file.
var cifarFiles = []string{
	"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin",
}

// cifar is a data set in CIFAR-10's layout.
type cifar struct {
	rows   int    // of each file
	sha256 string // of the archive
	size   int64  // of the archive, in bytes
	urls   []string
}

// The archive's size and SHA-256 are those that TensorFlow Datasets lists (url_checksums/cifar10.txt); the authors' page gives
// its MD5, c32a1d4ab5d03f1284b67883e8d87530.
func cifar10() *cifar {
	return &cifar{
		rows:   10000,
		sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
		size:   170052171,
		urls:   []string{"https://www.cs.toronto.edu/~kriz/" + cifarArchive},
	}
}

func (c *cifar) source() *source {
	return &source{
		what: cifarArchive + " (nor " + cifarFolder + ")", folder: "cifar-10", name: cifarArchive,
		find: func(root string) string {
			folder, batch := filepath.Join(root, "cifar-10"), filepath.Join(cifarFolder, cifarFiles[0])
			return firstFile(filepath.Join(root, cifarArchive), filepath.Join(root, batch),
				filepath.Join(folder, cifarArchive), filepath.Join(folder, batch))
		},
		urls: c.urls, limit: c.size, check: c.check,
	}
}

// check compares an archive with the official one.
func (c *cifar) check(r io.Reader) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != c.sha256 {
		return fmt.Errorf("has SHA-256 %s: the published archive's is %s", found, c.sha256)
	}
	return nil
}

func (l *Loader) loadCIFAR(ctx context.Context, c *cifar) (*Dataset, error) {
	found, err := l.locate(ctx, c.source())
	if err != nil {
		return nil, fmt.Errorf("datasets: cifar-10: %w", err)
	}
	d := c.empty()
	if filepath.Base(found) == cifarArchive {
		err = c.readArchive(found, d)
	} else {
		d.Name += " (unverified)"
		err = c.readFolder(filepath.Dir(found), d)
	}
	if err == nil {
		err = c.balanced(d)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: cifar-10: %w; replace or delete the file", err)
	}
	return d, nil
}

// empty returns the data set with room for all images.
func (c *cifar) empty() *Dataset {
	split := func(files int) Split {
		n := files * c.rows
		return Split{Bytes: make([]uint8, n*(cifarRow-1)), Scale: 1 / 127.5, Shift: -1, Labels: make([]int32, n)}
	}
	return &Dataset{
		Name: "cifar-10", Shape: []int{32, 32, 3}, Classes: cifarClasses,
		Train: split(len(cifarFiles) - 1), Test: split(1),
	}
}

// rowsOf returns where the images of a file go.
func (c *cifar) rowsOf(d *Dataset, file int) (pixels []uint8, labels []int32) {
	s := &d.Train
	if file == len(cifarFiles)-1 {
		s, file = &d.Test, 0
	}
	from, to := file*c.rows, (file+1)*c.rows
	return s.Bytes[from*(cifarRow-1) : to*(cifarRow-1)], s.Labels[from:to]
}

// readFolder reads the six files at the same time.
func (c *cifar) readFolder(folder string, d *Dataset) error {
	return parallel(len(cifarFiles), func(i int) error {
		name := filepath.Join(folder, cifarFiles[i])
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		pixels, labels := c.rowsOf(d, i)
		if err := readCIFAR(file, pixels, labels); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		return nil
	})
}

// readArchive reads the files from the archive. It checks the archive first, so that only the official one is unpacked.
func (c *cifar) readArchive(name string, d *Dataset) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := c.check(file); err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return fmt.Errorf("%s is not a gzip file: %w", name, err)
	}
	seen := 0
	for archive := tar.NewReader(z); ; {
		entry, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s is not a tar archive: %w", name, err)
		}
		folder, file := path.Split(entry.Name)
		i := slices.Index(cifarFiles, file)
		if folder != cifarFolder+"/" || i < 0 {
			continue
		}
		pixels, labels := c.rowsOf(d, i)
		if err := readCIFAR(archive, pixels, labels); err != nil {
			return fmt.Errorf("%s: %s %w", name, file, err)
		}
		seen++
	}
	if seen != len(cifarFiles) {
		return fmt.Errorf("%s holds %d of the %d files", name, seen, len(cifarFiles))
	}
	return nil
}

// readCIFAR reads len(labels) rows, [3, 32, 32] each, and writes their pixels as [32, 32, 3]. No byte may be missing,
// and none may follow.
func readCIFAR(r io.Reader, pixels []uint8, labels []int32) error {
	b := bufio.NewReaderSize(r, 1<<18)
	row := make([]byte, cifarRow)
	size := len(labels) * cifarRow
	for i := range labels {
		if n, err := io.ReadFull(b, row); err != nil {
			return short(err, i*cifarRow+n, size)
		}
		if row[0] >= cifarClasses {
			return fmt.Errorf("has label %d at image %d: must be below %d", row[0], i, cifarClasses)
		}
		labels[i] = int32(row[0])
		red, green, blue := row[1:1+cifarPixels], row[1+cifarPixels:1+2*cifarPixels], row[1+2*cifarPixels:]
		to := pixels[i*3*cifarPixels : (i+1)*3*cifarPixels]
		for p := range cifarPixels {
			q := to[3*p : 3*p+3 : 3*p+3]
			q[0], q[1], q[2] = red[p], green[p], blue[p]
		}
	}
	return ended(b, size)
}

// balanced checks that all classes have the same number of images, as in the official files.
func (c *cifar) balanced(d *Dataset) error {
	for part, s := range []*Split{&d.Train, &d.Test} {
		var counts [cifarClasses]int
		for _, l := range s.Labels {
			counts[l]++
		}
		for class, n := range counts {
			if want := s.Len() / cifarClasses; n != want {
				return fmt.Errorf("there are %d %s images of class %d: must be %d", n, []string{"training", "test"}[part], class, want)
			}
		}
	}
	return nil
}
