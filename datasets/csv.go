package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fedkit.example/datasets/internal/columns"
)

// CSV reads a table of your own: one example per line, a label column, and numbers in all other columns.
//
//	data := must.M1(datasets.CSV{File: "wine.csv", Label: "cultivar", Standardize: true}.Make())
//
// A gzipped file, whatever its name, is decompressed: to 128 MiB, or to 200 times its size. A row has at most 64 MiB,
// or an eighth of the memory that is free.
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

	UnseenLabels bool // test rows may have labels that no training row has
}

// Make returns the data set: Shape [f] or as given, Floats, rows in the order of the file. It fails if a field is missing
// or is not a finite number, and says where; without a Label, if the first line is numbers but for that; and if only test rows
// have a label. A first column without a name, or named "Unnamed: 0", has pandas' row numbers and is left out. Owners are numbered
// like classes; the partition rule Natural makes each a client.
func (c CSV) Make() (*Dataset, error) {
	if c.File == "" {
		return nil, errors.New("datasets: CSV: File is empty: must be the path of a file")
	}
	if err := checkShare("CSV", c, c.Share, c.Test); err != nil {
		return nil, err
	}
	train, err := c.open(c.File, nil)
	if err != nil {
		return nil, err
	}
	t := Table{Name: cmp.Or(c.Name, bare(c.File)), Shape: c.Shape, Standardize: c.Standardize, Share: c.Share, Seed: c.Seed,
		Source: c.File, Label: train.label, UnseenLabels: c.UnseenLabels}
	if t.Train = train.Rows; c.Test != "" {
		test, err := c.open(c.Test, train.names)
		if err != nil {
			return nil, err
		}
		t.Test = test.Rows
	}
	if c.Label == "" {
		fmt.Fprintf(os.Stderr, "datasets: %s: the last column, %s, was taken for the labels; Label names another\n", c.File, columns.Quote(train.label))
	}
	if train.index {
		fmt.Fprintf(os.Stderr, "datasets: %s: the first column, %s, was left out as the row numbers that pandas writes; rename it to keep it\n", c.File, columns.Quote(train.names[0]))
	}
	return t.Make()
}

// bare returns the name of a file without its folder and extensions.
func bare(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return cmp.Or(name, filepath.Base(path))
}
