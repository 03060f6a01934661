package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"fedkit.example/fedkit/config"
)

// NPY reads arrays that NumPy has saved.
//
//	data := must.M1(datasets.NPY{X: "x.npy", Y: "y.npy"}.Make())
//
// X is [n, f], [n, height, width] or [n, height, width, channels], of bool, int, uint, float32 or float64, in C or Fortran
// order. Arrays of uint8 are taken for images: they stay bytes, and a model sees [0, 1]. It sees all others unchanged. For other
// bytes, such as characters, and for integers such as images of uint16, see Scale; tokens, as model.GRU takes them, are whole
// numbers, so they need Scale 1 if they are uint8.
// Y is [n] or [n, 1]. Whole numbers and bools are labels, which count from 0, and C is the greatest plus 1; floats are the
// targets of a regression: in NumPy, y.astype(int) makes labels. Y [n, t] has t targets for each row, tags, or a label at
// each of t positions, −1 for none: see Dataset. Labels that look like others (a single 1 in each row, whole numbers that are floats,
// numbers left out) are read so too, and what they were taken for is printed, with what would make them the others.
//
// Instead of a file, an array of an NPZ archive may be named after a colon: "mnist.npz:x_train".
type NPY struct {
	X, Y          string  // files of features and labels of the n training rows; required
	Owner         string  // a file of owners, whole numbers ≥ 0, [n]; default: unknown
	TestX, TestY  string  // files of the test rows; default: a Share of the rows is held back
	TestOwner     string  // required if there are TestX and Owner
	Scale         float64 // what a model sees is Scale·value; default 1/255 for uint8, 1 for all others
	ChannelsFirst bool    // X is [n, channels, height, width], as PyTorch has images
	Tags          bool    // Y has tags, 0 or 1
	Name          string  // default: that of X, without its extensions
	Share         float64 `range:"(0,1)" default:"0.2"` // of the rows to hold back, stratified by owner and label, ± 1 row
	Seed          uint64  // chooses these rows
	UnseenLabels  bool    // test rows may have labels that no training row has
}

// Make returns the data set, channels last: Shape [f], [height width 1] or [height width channels]; Bytes with Scale
// for uint8, Floats otherwise. It fails if shapes or types do not go together, if images plainly have their channels first, such as
// [n, 3, 32, 32], without ChannelsFirst, if a value is not finite, or a label is not in [0, 65536), and says where: rows and values
// count from 0, as in NumPy; and if only test rows have a label. Memory is at most a fixed multiple of what the files hold, whatever
// shapes they claim to have, and arrays that take more than is free are refused.
func (a NPY) Make() (*Dataset, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	d := &Dataset{Name: cmp.Or(a.Name, bare(a.X)), Tags: a.Tags}
	var err error
	if d.Train, d.Shape, err = a.part(a.X, a.Y, a.Owner); err != nil {
		return nil, err
	}
	if !a.Tags {
		sayOdd(a.Y, d.Train.Labels, d.Train.width())
		sayOdd(a.Y, d.Train.Targets, d.Train.width())
	}
	if a.TestX == "" {
		if err := d.holdBack(config.Defaults(a).Share, a.Seed, a.UnseenLabels); err != nil {
			return nil, err
		}
	} else if err := a.test(d); err != nil {
		return nil, err
	}
	if d.Train.Labels != nil {
		d.Classes = int(max(slices.Max(d.Train.Labels), slices.Max(d.Test.Labels))) + 1
	}
	return d.finite()
}

func (a NPY) check() error {
	switch {
	case a.X == "":
		return errors.New("datasets: NPY: X is empty: must be the path of a file")
	case a.Y == "":
		return errors.New("datasets: NPY: Y is empty: must be the path of a file")
	case notFinite(float32(a.Scale)) || a.Scale != 0 && float32(a.Scale) == 0:
		return fmt.Errorf("datasets: NPY: Scale = %v: must be a finite float32, or 0 for the default", a.Scale)
	case (a.TestX == "") != (a.TestY == ""):
		return fmt.Errorf("datasets: NPY: TestX = %q, TestY = %q: must both be files, or neither", a.TestX, a.TestY)
	case (a.TestOwner != "") != (a.TestX != "" && a.Owner != ""):
		return fmt.Errorf("datasets: NPY: TestOwner = %q: must be a file if TestX and Owner are, and only then", a.TestOwner)
	}
	return checkShare("NPY", a, a.Share, a.TestX)
}

// test reads the test part, which must be of the same kind as the training part.
func (a NPY) test(d *Dataset) error {
	test, shape, err := a.part(a.TestX, a.TestY, a.TestOwner)
	switch {
	case err != nil:
		return err
	case !slices.Equal(shape, d.Shape):
		return fmt.Errorf("datasets: %s: examples have shape %v: must be %v, as in %s", a.TestX, shape, d.Shape, a.X)
	case (test.Bytes == nil) != (d.Train.Bytes == nil):
		return fmt.Errorf("datasets: %s and %s: must both be of uint8, or neither", a.X, a.TestX)
	case test.width() != d.Train.width():
		return fmt.Errorf("datasets: %s has %d values per row: must have %d, as %s", a.TestY, test.width(), d.Train.width(), a.Y)
	case (test.Labels == nil) != (d.Train.Labels == nil):
		return fmt.Errorf("datasets: %s and %s: must both be whole numbers, for classes, or both floats, for a regression", a.Y, a.TestY)
	}
	if d.Test = test; test.width() == 1 && !a.UnseenLabels {
		return d.checkSeen(a.TestY, nil)
	}
	return nil
}

// part reads the arrays of one part, and returns the shape of an example too.
func (a NPY) part(x, y, owner string) (s Split, shape []int, err error) {
	features, err := openArray(x)
	if err != nil {
		return s, nil, err
	}
	if shape, err = features.images(a.ChannelsFirst); err == nil {
		err = features.fill(&s, float32(a.Scale))
	}
	if err != nil {
		return s, nil, err
	}
	truth, err := features.along(y, true)
	if err != nil {
		return s, nil, err
	}
	least := 0
	if len(truth.shape) == 2 && truth.shape[1] > 1 {
		s.Width, least = truth.shape[1], -1
	}
	if truth.isFloat() || a.Tags {
		s.Targets, err = truth.floats()
	} else {
		s.Labels, err = truth.whole(least, maxClasses)
	}
	if err != nil || owner == "" {
		return s, shape, err
	}
	owners, err := features.along(owner, false)
	if err == nil {
		s.Owner, err = owners.whole(0, 1<<31)
	}
	return s, shape, err
}

// sayOdd prints what a file's ground truth, t values in a row, was taken for if it looks like another form, and what would make it that.
func sayOdd[T int32 | float32](file string, y []T, t int) {
	seen, most := map[T]bool{}, T(0)
	for _, v := range y {
		if !(v >= 0 && v < maxClasses) || v != T(int32(v)) {
			return
		}
		seen[v], most = true, max(most, v)
	}
	_, targets := any(y).([]float32)
	taken, other := fmt.Sprintf("labels of %v classes", most+1), ""
	if targets {
		taken = "targets of a regression"
	}
	if t > 1 {
		taken += fmt.Sprintf(" in each of %d columns", t)
	}
	switch {
	case y == nil:
		return
	case t > 1 && most == 1:
		other = "y.argmax(1) makes labels of rows with a single 1, and Tags takes rows for tags"
	case t == 1 && targets:
		other = "y.astype(int) makes them labels"
	case t == 1 && len(seen) <= int(most):
		other = "np.unique(y, return_inverse=True)[1] makes labels that leave no number out"
	default:
		return
	}
	fmt.Fprintf(os.Stderr, "datasets: %s: %d different whole numbers were taken for %s; %s\n", file, len(seen), taken, other)
}
