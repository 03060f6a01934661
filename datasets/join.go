package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Join makes one data set of several that describe the same examples, such as an image, a text and a row of a table for each: a model
// sees their inputs, whose shapes are Dataset.Inputs, one after the other (model.Inputs takes them apart). Bytes stay bytes if all
// parts have them with one Scale and Shift.
//
//	data, err := datasets.Join(images, texts) // from NPY{X: "images.npy", Y: "y.npy"} and NPY{X: "texts.npy", Y: "y.npy"}
//
// Errors: fewer than two data sets, one that does not pass its Check, other labels, targets or owners than the first one's.
func Join(of ...*Dataset) (*Dataset, error) {
	if len(of) < 2 {
		return nil, fmt.Errorf("datasets: Join: %d data sets: must be at least 2", len(of))
	}
	var names []string
	for i, d := range of {
		if err := d.Check(); err != nil {
			return nil, err
		}
		if a := of[0]; d.Classes != a.Classes || d.Tags != a.Tags || !slices.Equal(d.Groups, a.Groups) || !d.Train.sameTruth(&a.Train) || !d.Test.sameTruth(&a.Test) {
			return nil, fmt.Errorf("datasets: Join: data set %d (%s): must have the labels or targets, owners and groups of data set 0 (%s), row by row", i, d.Name, a.Name)
		}
		names = append(names, d.Name)
	}
	all := *of[0]
	all.Name, all.Inputs = strings.Join(names, " + "), nil
	for _, d := range of {
		if d.Inputs != nil {
			all.Inputs = append(all.Inputs, d.Inputs...)
		} else {
			all.Inputs = append(all.Inputs, d.Shape)
		}
	}
	for _, part := range []Part{TrainPart, TestPart} {
		var splits []*Split
		for _, d := range of {
			splits = append(splits, d.Part(part))
		}
		all.Part(part).join(splits)
	}
	all.Shape = []int{max(len(all.Test.Bytes), len(all.Test.Floats)) / all.Test.Len()}
	return &all, all.Check()
}

// sameTruth reports whether two parts agree but for the features.
func (s *Split) sameTruth(o *Split) bool {
	return s.width() == o.width() && slices.Equal(s.Labels, o.Labels) && slices.Equal(s.Targets, o.Targets) && slices.Equal(s.Owner, o.Owner)
}

// join replaces the features by those of several parts, row by row.
func (s *Split) join(of []*Split) {
	n := s.Len()
	bytes := !slices.ContainsFunc(of, func(o *Split) bool { return o.Bytes == nil || o.Scale != of[0].Scale || o.Shift != of[0].Shift })
	s.Bytes, s.Floats = nil, nil
	for i := range n {
		for _, o := range of {
			if f := len(o.Bytes) / n; bytes {
				s.Bytes = append(s.Bytes, o.Bytes[i*f:(i+1)*f]...)
			} else {
				s.Floats = append(s.Floats, o.Row(i, nil)...)
			}
		}
	}
	if !bytes {
		s.Scale, s.Shift = 0, 0
	}
}
