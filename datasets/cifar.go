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

// CIFAR100 returns CIFAR-100: 50,000 training and 10,000 test images of 100 classes in 20 superclasses of 5, in every
// other way like CIFAR10. Labels are the fine ones, and Coarse has the superclass of each, which partition.Pachinko uses.
//
// It reads the official archive cifar-100-binary.tar.gz, or its two files in the folder cifar-100-binary, and finds them
// as CIFAR10 does, with cifar-100 for the folder. A download takes 169 MB.
//
// Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009, chapter 3.
func CIFAR100() (*Dataset, error) {
	return new(Loader).CIFAR100(context.Background())
}

// CIFAR100 is the function CIFAR100 with the loader's settings; ctx can stop a download.
func (l *Loader) CIFAR100(ctx context.Context) (*Dataset, error) {
	return l.loadCIFAR(ctx, cifar100())
}

const (
	cifarPixels  = 32 * 32
	cifarClasses = 10 // of CIFAR-10
)

// cifar is a data set in the binary form of CIFAR-10 and CIFAR-100. A record has one label, or the coarse and the fine
// one, and then the red, green and blue plane.
type cifar struct {
	name    string   // of the data set and its folder
	folder  string   // in the archive
	archive string   // its file's name
	files   []string // the training files in order, then the test file
	rows    []int    // of each file
	classes int
	coarse  int    // number of superclasses, 0 if records have one label
	sha256  string // of the archive
	size    int64  // of the archive, in bytes
	urls    []string
}

// The archives' sizes and SHA-256 are those that TensorFlow Datasets lists (url_checksums/cifar10.txt and cifar100.txt); the
// authors' page gives the MD5, c32a1d4ab5d03f1284b67883e8d87530 and 03b5dce01913d631647c71ecec9e9cb8.
func cifar10() *cifar {
	return &cifar{
		name: "cifar-10", folder: "cifar-10-batches-bin", archive: "cifar-10-binary.tar.gz",
		files: []string{
			"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin",
		},
		rows:    slices.Repeat([]int{10000}, 6),
		classes: cifarClasses,
		sha256:  "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
		size:    170052171,
		urls:    []string{"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
	}
}

func cifar100() *cifar {
	return &cifar{
		name: "cifar-100", folder: "cifar-100-binary", archive: "cifar-100-binary.tar.gz",
		files:   []string{"train.bin", "test.bin"},
		rows:    []int{50000, 10000},
		classes: 100, coarse: 20,
		sha256: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
		size:   168513733,
		urls:   []string{"https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"},
	}
}

// row returns the length of a record in bytes.
func (c *cifar) row() int { return 1 + min(1, c.coarse) + 3*cifarPixels }

func (c *cifar) source() *source {
	return &source{
		what: c.archive + " (nor " + c.folder + ")", folder: c.name, name: c.archive,
		find: func(root string) string {
			folder, batch := filepath.Join(root, c.name), filepath.Join(c.folder, c.files[0])
			return firstFile(filepath.Join(root, c.archive), filepath.Join(root, batch),
				filepath.Join(folder, c.archive), filepath.Join(folder, batch))
		},
		urls: c.urls, limit: c.size, check: func(r io.Reader) error { return checkSHA256(r, c.sha256) },
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

func (l *Loader) loadCIFAR(ctx context.Context, c *cifar) (*Dataset, error) {
	found, err := l.locate(ctx, c.source())
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", c.name, err)
	}
	d := c.empty()
	coarse := make([]uint8, d.Train.Len()+d.Test.Len())
	if filepath.Base(found) == c.archive {
		err = c.readArchive(found, d, coarse)
	} else {
		d.Name += " (unverified)"
		err = c.readFolder(filepath.Dir(found), d, coarse)
	}
	if err == nil {
		err = c.balanced(d)
	}
	if err == nil && c.coarse > 0 {
		d.Coarse, err = c.superclasses(slices.Concat(d.Train.Labels, d.Test.Labels), coarse)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w; replace or delete the file", c.name, err)
	}
	return d, nil
}

// empty returns the data set with room for all images.
func (c *cifar) empty() *Dataset {
	split := func(files []int) Split {
		n := 0
		for _, rows := range files {
			n += rows
		}
		return Split{Bytes: make([]uint8, n*3*cifarPixels), Scale: 1 / 127.5, Shift: -1, Labels: make([]int32, n)}
	}
	last := len(c.rows) - 1
	return &Dataset{
		Name: c.name, Shape: []int{32, 32, 3}, Classes: c.classes,
		Train: split(c.rows[:last]), Test: split(c.rows[last:]),
	}
}

// read reads a file's images to where they go. coarse has room for those of all files.
func (c *cifar) read(r io.Reader, file int, d *Dataset, coarse []uint8) error {
	from := 0
	for _, rows := range c.rows[:file] {
		from += rows
	}
	coarse = coarse[from:]
	s := &d.Train
	if file == len(c.files)-1 {
		s, from = &d.Test, 0
	}
	to := from + c.rows[file]
	return c.readImages(r, s.Bytes[from*3*cifarPixels:to*3*cifarPixels], s.Labels[from:to], coarse)
}

// readFolder reads the files at the same time.
func (c *cifar) readFolder(folder string, d *Dataset, coarse []uint8) error {
	return parallel(len(c.files), func(i int) error {
		name := filepath.Join(folder, c.files[i])
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := c.read(file, i, d, coarse); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		return nil
	})
}

// readArchive reads the files from the archive. It checks the archive first, so that only the official one is unpacked.
func (c *cifar) readArchive(name string, d *Dataset, coarse []uint8) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := checkSHA256(file, c.sha256); err != nil {
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
		i := slices.Index(c.files, file)
		if folder != c.folder+"/" || i < 0 {
			continue
		}
		if err := c.read(archive, i, d, coarse); err != nil {
			return fmt.Errorf("%s: %s %w", name, file, err)
		}
		seen++
	}
	if seen != len(c.files) {
		return fmt.Errorf("%s holds %d of the %d files", name, seen, len(c.files))
	}
	return nil
}

// readImages reads len(labels) records, [3, 32, 32] each, and writes their pixels as [32, 32, 3], and their coarse labels
// if they have any. No byte may be missing, and none may follow.
func (c *cifar) readImages(r io.Reader, pixels []uint8, labels []int32, coarse []uint8) error {
	b := bufio.NewReaderSize(r, 1<<18)
	row := make([]byte, c.row())
	size := len(labels) * len(row)
	label, planes := len(row)-3*cifarPixels-1, row[len(row)-3*cifarPixels:]
	red, green, blue := planes[:cifarPixels], planes[cifarPixels:2*cifarPixels], planes[2*cifarPixels:]
	for i := range labels {
		if n, err := io.ReadFull(b, row); err != nil {
			return short(err, i*len(row)+n, size)
		}
		if int(row[label]) >= c.classes {
			return fmt.Errorf("has label %d at image %d: must be below %d", row[label], i, c.classes)
		}
		labels[i] = int32(row[label])
		if c.coarse > 0 {
			if int(row[0]) >= c.coarse {
				return fmt.Errorf("has coarse label %d at image %d: must be below %d", row[0], i, c.coarse)
			}
			coarse[i] = row[0]
		}
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
		counts := make([]int, c.classes)
		for _, l := range s.Labels {
			counts[l]++
		}
		for class, n := range counts {
			if want := s.Len() / c.classes; n != want {
				return fmt.Errorf("there are %d %s images of class %d: must be %d", n, []string{"training", "test"}[part], class, want)
			}
		}
	}
	return nil
}

// superclasses returns the superclass of each class, which must be the same for all of its images.
func (c *cifar) superclasses(labels []int32, coarse []uint8) ([]int, error) {
	of := slices.Repeat([]int{-1}, c.classes)
	for i, l := range labels {
		switch now := int(coarse[i]); of[l] {
		case -1, now:
			of[l] = now
		default:
			return nil, fmt.Errorf("there are images of class %d in the superclasses %d and %d: must be in one", l, of[l], now)
		}
	}
	return of, nil
}
