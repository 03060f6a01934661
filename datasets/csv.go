package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/stat"
)

// CSV reads a table of your own: one example per line, a label column, and numbers in all other columns.
//
//	data := must.M1(datasets.CSV{File: "wine.csv", Label: "cultivar", Standardize: true}.Make())
//
// A gzipped file, whatever its name, is decompressed: to 128 MiB, or to 200 times its size. A row has at most 64 MiB.
// Labels are names, numbers or words: the C distinct ones, in ascending order, are the classes 0, …, C−1, as in
// scikit-learn's LabelEncoder. With Regression they are numbers, the targets. Fields are separated by commas, and a
// decimal point is a point.
type CSV struct {
	File        string   // required
	Name        string   // default: the file's, without its extensions
	NoHeader    bool     // the first line is data; columns are then named "1", "2", …
	Label       string   // name of the column of labels; default: the last one
	Owner       string   // name of the column of owners, words or numbers; default: unknown
	Skip        []string // names of columns to leave out
	Regression  bool     // labels are numbers to be predicted
	Shape       []int    // of one example, for images in a table; default [f], the number of columns left
	Standardize bool     // (x − mean) / standard deviation in each column, both of the training rows
	Test        string   // a file with the same columns that has the test rows; default: a Share of File is held back
	Share       float64  `range:"(0,1)" default:"0.2"` // of the rows to hold back, stratified by owner and label, ± 1 row
	Seed        uint64   // chooses these rows
}

// Make returns the data set: Shape [f] or as given, Floats, rows in the order of the file. It fails if a field is missing
// or is not a finite number, and says where. Owners are numbered like classes; the partition rule Natural makes each a client.
func (c CSV) Make() (*Dataset, error) {
	if c.File == "" {
		return nil, errors.New("datasets: CSV: File is empty: must be the path of a file")
	}
	if err := checkShare("CSV", c.Share, c.Test); err != nil {
		return nil, err
	}
	train, err := c.open(c.File, nil)
	if err != nil {
		return nil, err
	}
	test := &csvFile{path: c.Test}
	if c.Test != "" {
		if test, err = c.open(c.Test, train.names); err != nil {
			return nil, err
		}
	}
	d := &Dataset{Name: cmp.Or(c.Name, bare(c.File)), Shape: slices.Clone(c.Shape)}
	if err := c.shape(d, train); err != nil {
		return nil, err
	}
	if err := c.learn(d, train, test); err != nil {
		return nil, err
	}
	return c.finish(d)
}

// shape sets the shape of one example.
func (c CSV) shape(d *Dataset, t *csvFile) error {
	f := len(t.features) / len(t.labels)
	if len(c.Shape) == 0 {
		d.Shape = []int{f}
	}
	if d.Features() != f || slices.Min(d.Shape) < 1 {
		return fmt.Errorf("datasets: CSV: Shape = %v: must have the product %d, the number of columns with features in %s", c.Shape, f, t.path)
	}
	return nil
}

// learn fills both parts with features and with labels or targets.
func (c CSV) learn(d *Dataset, train, test *csvFile) (err error) {
	n := len(train.labels)
	d.Train.Floats, d.Test.Floats = train.features, test.features
	if c.Owner != "" {
		numbers, _ := ranks(slices.Concat(train.owners, test.owners))
		d.Train.Owner, d.Test.Owner = numbers[:n:n], numbers[n:]
	}
	if c.Regression {
		if d.Train.Targets, err = train.targets(); err == nil {
			d.Test.Targets, err = test.targets()
		}
		return err
	}
	if err := cmp.Or(train.checkLabels(), test.checkLabels()); err != nil {
		return err
	}
	numbers, classes := ranks(slices.Concat(train.labels, test.labels))
	if classes < 2 {
		return fmt.Errorf("datasets: %s: column %s: all labels are %s: must be at least 2 different ones", c.File, quoted(train.label), quoted(train.labels[0]))
	}
	if classes > maxClasses {
		return fmt.Errorf("datasets: %s: column %s has %d different labels: must be at most %d; Regression predicts numbers", c.File, quoted(train.label), classes, maxClasses)
	}
	d.Classes = classes
	d.Train.Labels, d.Test.Labels = numbers[:n:n], numbers[n:]
	return nil
}

func (c CSV) finish(d *Dataset) (*Dataset, error) {
	if c.Test == "" {
		d.Test = Split{}
		if err := d.holdBack(config.Defaults(c).Share, c.Seed); err != nil {
			return nil, err
		}
	}
	if c.Standardize {
		d.standardize()
	}
	return d.finite()
}

// maxClasses is the most classes that labels in a file may imply. Beyond it they are numbers of another kind.
const maxClasses = 1 << 16

// bare returns the name of a file without its folder and extensions.
func bare(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return cmp.Or(name, filepath.Base(path))
}

// standardize shifts and scales each feature by its mean and standard deviation (of the n training rows, with the divisor n).
// Constant features are only shifted.
func (d *Dataset) standardize() {
	f, n := d.Features(), d.Train.Len()
	column := make([]float64, n)
	for j := range f {
		for i := range column {
			column[i] = float64(d.Train.Floats[i*f+j])
		}
		mean, sd := stat.PopMeanStdDev(column, nil)
		if sd == 0 {
			sd = 1
		}
		for _, s := range []*Split{&d.Train, &d.Test} {
			for i := j; i < len(s.Floats); i += f {
				s.Floats[i] = float32((float64(s.Floats[i]) - mean) / sd)
			}
		}
	}
}
