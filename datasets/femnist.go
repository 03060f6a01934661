package datasets

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// FEMNIST returns the handwritten digits and letters of LEAF, by writer: images of 62 classes (0–9, A–Z, a–z), Shape
// [28 28 1], Bytes with Scale 1/255, so that a model sees [0, 1], dark strokes (0) on white (1). Owner is the
// writer of each image; the partition rule Natural makes every writer a client.
//
// The images come from NIST's Special Database 19. LEAF's program (github.com/TalwalkarLab/leaf) fetches them, sorts them
// by writer, samples and splits them, with options for each step. So there is no file to download and no checksum to
// compare. In its folder data/femnist run
//
//	./preprocess.sh -s niid --sf 0.05 -k 0 -t sample
//
// for 5 % of the images (1.0 for all), with every writer in both parts. Then copy the contents of data/train and
// data/test to the folders femnist/train and femnist/test of FEDKIT_DATA. Every file there named *.json is read, in the
// order of the names. Writers are numbered in the order in which they appear.
//
// Source: S. Caldas et al., LEAF: a benchmark for federated settings, arXiv 1812.01097, section 3; G. Cohen, S. Afshar,
// J. Tapson, A. van Schaik, EMNIST: an extension of MNIST to handwritten letters, arXiv 1702.05373.
func FEMNIST() (*Dataset, error) {
	return new(Loader).FEMNIST(context.Background())
}

// FEMNIST is the function FEMNIST with the loader's settings; ctx can stop the reading between two files.
func (l *Loader) FEMNIST(ctx context.Context) (*Dataset, error) {
	folder, err := l.locate(ctx, &source{
		what: "train/*.json and test/*.json", folder: "femnist",
		find: func(root string) string {
			root = filepath.Join(root, "femnist")
			if jsonFiles(root, "train") == nil || jsonFiles(root, "test") == nil {
				return ""
			}
			return root
		},
		hint: "LEAF's program makes these files: see the documentation of FEMNIST",
	})
	if err != nil {
		return nil, fmt.Errorf("datasets: femnist: %w", err)
	}
	d := &Dataset{Name: "femnist", Shape: []int{28, 28, 1}, Classes: 62}
	numbers := map[string]int32{} // of the writers
	if d.Train, err = readWriters(ctx, jsonFiles(folder, "train"), d, numbers); err == nil {
		d.Test, err = readWriters(ctx, jsonFiles(folder, "test"), d, numbers)
	}
	if err == nil {
		err = d.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: femnist: %w", err)
	}
	return d, nil
}

// jsonFiles returns the files of a part in the order of their names, nil if there are none.
func jsonFiles(root, part string) []string {
	files, _ := fs.Glob(os.DirFS(root), part+"/*.json") // the pattern is right, and other errors are ignored
	for i, name := range files {
		files[i] = filepath.Join(root, name)
	}
	return files
}

// readWriters reads the files of one part, several at a time, and numbers the writers that have no number yet.
func readWriters(ctx context.Context, files []string, d *Dataset, numbers map[string]int32) (Split, error) {
	writers := make([][]writer, len(files))
	if err := parallel(len(files), func(i int) (err error) {
		if err = ctx.Err(); err == nil {
			writers[i], err = readWriterFile(files[i], d)
		}
		return err
	}); err != nil {
		return Split{}, err
	}
	n := 0
	for _, file := range writers {
		for _, w := range file {
			n += len(w.labels)
		}
	}
	s := Split{Bytes: make([]uint8, 0, n*d.Features()), Scale: 1.0 / 255, Labels: make([]int32, 0, n), Owner: make([]int32, 0, n)}
	for i := range writers {
		for _, w := range writers[i] {
			number, known := numbers[w.name]
			if !known {
				number = int32(len(numbers))
				numbers[w.name] = number
			}
			s.Bytes = append(s.Bytes, w.pixels...)
			s.Labels = append(s.Labels, w.labels...)
			s.Owner = append(s.Owner, slices.Repeat([]int32{number}, len(w.labels))...)
		}
		writers[i] = nil // free what has been copied
	}
	return s, nil
}

func readWriterFile(name string, d *Dataset) ([]writer, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	writers, err := readLEAF(file, d.Features(), d.Classes)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return writers, nil
}
