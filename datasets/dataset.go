// Package datasets has the data on which federated learning is studied: readers for the official files of the usual data
// sets, an embedded data set that needs no network, synthetic data, also with known groups, and readers for
// your own tables (CSV, parquet.Table), arrays (NPY), images (ImageFolder) and texts (Text). Its subpackage huggingface reads data sets of the
// Hugging Face hub, and partition has the rules that partition a data set among clients.
package datasets

import (
	"fmt"
	"slices"
)

// Dataset is a data set with its ground truth: n training and n′ test examples of one shape. Training and test rows are the
// official ones if there are any, and are never mixed. Four forms of ground truth are known, t values for each example:
//
//	classes    Classes = k, Labels [n]; the model has k outputs
//	values     Targets [n, t], real; t outputs
//	tags       Tags, Targets [n, t], each 0 or 1, which do not exclude one another; t outputs
//	positions  Classes = k, Labels [n, t] with a label, or −1 for none, at each of t > 1 positions, as in text; t·k outputs.
//	           Rows without any label count in nothing: fedkit.New leaves them out
type Dataset struct {
	Name    string  // for plots, tables and histories
	Shape   []int   // of one example, channels last: [28 28 1] for an MNIST image, [13] for a table row
	Inputs  [][]int // shapes of the inputs of one example if it has several, whose values come one after the other: see Join; Shape is [f]
	Classes int     // number of labels, 0 for a regression or tags
	Tags    bool    // Targets are tags
	Train   Split   // what clients train on
	Test    Split   // what models are evaluated on
	Groups  []int   // by owner, the true group; nil if there is none
	Coarse  []int   // [Classes], the superclass of each class, from 0; nil if there are none
}

// Split is one part of a data set: n examples, row after row. Exactly one of Bytes and Floats holds the features
// ([n, f] with f the product of the data set's Shape), and exactly one of Labels and Targets holds the ground truth.
//
// Images stay the bytes they are on disk. The value that a model sees is Scale·byte + Shift, computed on the device.
type Split struct {
	Bytes        []uint8   // [n, f], features as bytes, such as images
	Scale, Shift float32   // of Bytes: what a model sees is Scale·byte + Shift
	Floats       []float32 // [n, f], features as numbers
	Labels       []int32   // [n] or [n, t], 0 ≤ label < Classes
	Targets      []float32 // [n, t], for a regression or tags
	Width        int       // t; 0 stands for 1
	Owner        []int32   // [n], owner of each example (its writer, its client), from 0; nil if unknown
}

// Part is a part of the examples that clients hold.
type Part int

// The parts. The official ones are the training and the test part; a rule may hold validation rows back from the former.
const (
	TrainPart      Part = iota // training examples
	TestPart                   // test examples, on which nothing is chosen
	ValidationPart             // rows of the training part on which nothing is trained, for choices: see partition.Validation
)

// String returns "test part".
func (p Part) String() string {
	if names := []string{"training part", "test part", "validation part"}; p >= 0 && int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("Part(%d)", int(p))
}

// Part returns the examples that a part's rows are of: those of ValidationPart are rows of Train.
func (d *Dataset) Part(part Part) *Split {
	if part == TestPart {
		return &d.Test
	}
	return &d.Train
}

// Len returns n, the number of examples.
func (s *Split) Len() int { return max(len(s.Labels), len(s.Targets)) / s.width() }

// width returns t.
func (s *Split) width() int { return max(1, s.Width) }

// Truth returns the labels and the targets of some rows, [rows·t], one of them nil.
func (s *Split) Truth(rows []int) (labels []int32, targets []float32) {
	return pick(s.Labels, rows, s.width()), pick(s.Targets, rows, s.width())
}

// TruthShape returns the shape of the ground truth for dims examples: dims, or dims and t if that is more than 1.
func (d *Dataset) TruthShape(dims ...int) []int {
	if t := d.Train.width(); t > 1 {
		return append(slices.Clone(dims), t)
	}
	return dims
}

// Outputs returns the shape of a model's output for one example: [k] for classes, [t] for values and tags, [t, k] for positions.
func (d *Dataset) Outputs() []int {
	switch t := d.Train.width(); {
	case d.Classes == 0:
		return []int{t}
	case t > 1:
		return []int{t, d.Classes}
	}
	return []int{d.Classes}
}

// Labeled reports whether each example has one label.
func (d *Dataset) Labeled() bool { return d.Classes > 0 && d.Train.width() == 1 }

// Features returns f, the number of values in one example.
func (d *Dataset) Features() int {
	f := 1
	for _, n := range d.Shape {
		f *= n
	}
	return f
}

// Row writes example i, as a model sees it, into dst ([f]) and returns it; a nil dst is allocated.
func (s *Split) Row(i int, dst []float32) []float32 {
	f := max(len(s.Bytes), len(s.Floats)) / max(1, s.Len())
	if dst == nil {
		dst = make([]float32, f)
	}
	if s.Floats != nil {
		copy(dst, s.Floats[i*f:(i+1)*f])
		return dst
	}
	for j, b := range s.Bytes[i*f : (i+1)*f] {
		dst[j] = s.Scale*float32(b) + s.Shift
	}
	return dst
}

// Check reports the first thing that is wrong with the data set: a size that does not fit the shape, a label outside
// [0, Classes), labels that are all the same in both parts, a value that is not finite.
func (d *Dataset) Check() error {
	if d == nil {
		return fmt.Errorf("datasets: the data set is nil")
	}
	f, empty := 0, func(n int) bool { return n < 1 }
	if slices.ContainsFunc(d.Shape, empty) {
		return fmt.Errorf("datasets: %s: Shape = %v: every dimension must be at least 1", d.Name, d.Shape)
	}
	for _, shape := range d.Inputs {
		f += (&Dataset{Shape: shape}).Features()
		if slices.ContainsFunc(shape, empty) {
			return fmt.Errorf("datasets: %s: Inputs = %v: every dimension must be at least 1", d.Name, d.Inputs)
		}
	}
	if d.Inputs != nil && !slices.Equal(d.Shape, []int{f}) {
		return fmt.Errorf("datasets: %s: Inputs = %v: need the Shape [%d], not %v", d.Name, d.Inputs, f, d.Shape)
	}
	if d.Classes < 0 || d.Classes == 1 {
		return fmt.Errorf("datasets: %s: Classes = %d: must be at least 2, or 0 for a regression", d.Name, d.Classes)
	}
	if d.Coarse != nil && len(d.Coarse) != d.Classes {
		return fmt.Errorf("datasets: %s: Coarse has %d entries: must have %d, one per class", d.Name, len(d.Coarse), d.Classes)
	}
	if c := slices.IndexFunc(d.Coarse, func(s int) bool { return s < 0 || s >= d.Classes }); c >= 0 {
		return fmt.Errorf("datasets: %s: Coarse: class %d has the superclass %d: must be in [0, %d)", d.Name, c, d.Coarse[c], d.Classes)
	}
	if w := min(d.Train.Width, d.Test.Width); w < 0 {
		return fmt.Errorf("datasets: %s: Width = %d: must be at least 1, or 0 for 1", d.Name, w)
	}
	if a, b := d.Train.width(), d.Test.width(); a != b {
		return fmt.Errorf("datasets: %s: Width: is %d of the training part and %d of the test part: must be the same", d.Name, a, b)
	}
	if err := d.Train.check(d, "Train"); err != nil {
		return err
	}
	if err := d.Test.check(d, "Test"); err != nil {
		return err
	}
	if (d.Train.Owner == nil) != (d.Test.Owner == nil) {
		return fmt.Errorf("datasets: %s: Owner: must be known for both parts or for none", d.Name)
	}
	if labels := d.Train.Labels; labels != nil {
		other := func(l int32) bool { return l != labels[0] && l >= 0 }
		if !slices.ContainsFunc(labels, other) && !slices.ContainsFunc(d.Test.Labels, other) {
			return fmt.Errorf("datasets: %s: Labels: all are %d: must be at least 2 different ones", d.Name, labels[0])
		}
	}
	return nil
}

func (s *Split) check(d *Dataset, part string) error {
	wrong := func(format string, a ...any) error {
		return fmt.Errorf("datasets: %s: %s: %s", d.Name, part, fmt.Sprintf(format, a...))
	}
	n, f, t := s.Len(), d.Features(), s.width()
	switch {
	case max(len(s.Labels), len(s.Targets))%t != 0:
		return wrong("%d labels or targets: must be a multiple of Width = %d", max(len(s.Labels), len(s.Targets)), t)
	case n == 0:
		return wrong("no examples")
	case (s.Labels == nil) == (s.Targets == nil):
		return wrong("exactly one of Labels and Targets must be set")
	case (s.Bytes == nil) == (s.Floats == nil):
		return wrong("exactly one of Bytes and Floats must be set")
	case s.Bytes != nil && len(s.Bytes) != n*f:
		return wrong("Bytes has %d values: %d examples of shape %v need %d", len(s.Bytes), n, d.Shape, n*f)
	case s.Floats != nil && len(s.Floats) != n*f:
		return wrong("Floats has %d values: %d examples of shape %v need %d", len(s.Floats), n, d.Shape, n*f)
	case s.Bytes != nil && (s.Scale == 0 || notFinite(s.Scale)):
		return wrong("Scale = %v: must be a finite number other than 0; use 1.0/255 for values in [0, 1]", s.Scale)
	case notFinite(s.Shift):
		return wrong("Shift = %v: must be finite", s.Shift)
	case s.Labels != nil && d.Classes == 0:
		return wrong("Labels need Classes ≥ 2")
	case s.Owner != nil && len(s.Owner) != n:
		return wrong("Owner has %d entries: must have %d, one per example", len(s.Owner), n)
	case s.Targets != nil && d.Classes != 0:
		return wrong("Targets need Classes = 0, not %d", d.Classes)
	case s.Targets == nil && d.Tags:
		return wrong("Tags need Targets, each 0 or 1")
	}
	if i := slices.IndexFunc(s.Floats, notFinite); i >= 0 {
		return wrong("Floats: example %d holds %v: values must be finite", i/f, s.Floats[i])
	}
	if i := slices.IndexFunc(s.Targets, notFinite); i >= 0 {
		return wrong("Targets: example %d is %v: values must be finite", i/t, s.Targets[i])
	}
	if i := slices.IndexFunc(s.Targets, func(v float32) bool { return d.Tags && v != 0 && v != 1 }); i >= 0 {
		return wrong("Targets: example %d has the tag %v: must be 0 or 1", i/t, s.Targets[i])
	}
	least, none := int32(0), ""
	if t > 1 {
		least, none = -1, ", or -1 for no label"
	}
	if i := slices.IndexFunc(s.Labels, func(l int32) bool { return l < least || int(l) >= d.Classes }); i >= 0 {
		return wrong("Labels: example %d is %d: must be in [0, %d)%s", i/t, s.Labels[i], d.Classes, none)
	}
	for i, o := range s.Owner {
		if o < 0 {
			return wrong("Owner: example %d is %d: must be at least 0", i, o)
		}
		if d.Groups != nil && int(o) >= len(d.Groups) {
			return wrong("Owner: example %d is %d: must be in [0, %d), since there are %d Groups", i, o, len(d.Groups), len(d.Groups))
		}
	}
	return nil
}

func notFinite(v float32) bool { return v-v != 0 } // NaN or infinite
