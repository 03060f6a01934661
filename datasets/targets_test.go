package datasets

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// several returns a data set with a label at each of two positions.
func several() *Dataset {
	return &Dataset{
		Name: "several", Shape: []int{1}, Classes: 3,
		Train: Split{Floats: []float32{1, 2, 3}, Labels: []int32{0, -1, 2, 1, -1, -1}, Width: 2},
		Test:  Split{Floats: []float32{4}, Labels: []int32{1, 1}, Width: 2},
	}
}

func TestFormsOfTargets(t *testing.T) {
	one, values, tags, positions := small(), several(), several(), several()
	values.Classes = 0
	values.Train.Labels, values.Train.Targets = nil, []float32{0.5, 1, 2, 3, 4, 5}
	values.Test.Labels, values.Test.Targets = nil, []float32{6, 7}
	tags.Classes, tags.Tags = 0, true
	tags.Train.Labels, tags.Train.Targets = nil, []float32{0, 1, 1, 1, 0, 0}
	tags.Test.Labels, tags.Test.Targets = nil, []float32{1, 0}
	for _, c := range []struct {
		d       *Dataset
		outputs []int
		truth   []int
		labeled bool
	}{{one, []int{3}, []int{7}, true}, {values, []int{2}, []int{7, 2}, false}, {tags, []int{2}, []int{7, 2}, false}, {positions, []int{2, 3}, []int{7, 2}, false}} {
		expect.OK(t, c.d.Check())
		if got := c.d.Outputs(); !slices.Equal(got, c.outputs) || !slices.Equal(c.d.TruthShape(7), c.truth) || c.d.Labeled() != c.labeled {
			t.Errorf("%+v: outputs %v, truth of 7 examples %v, labeled %t", c.d, got, c.d.TruthShape(7), c.d.Labeled())
		}
	}
	if labels, targets := positions.Train.Truth([]int{1, 0}); !slices.Equal(labels, []int32{2, 1, 0, -1}) || targets != nil || positions.Train.Len() != 3 {
		t.Errorf("labels %v, targets %v", labels, targets)
	}
	if got := positions.Train.rows([]int{2, 1}, 1); got.Len() != 2 || !slices.Equal(got.Labels, []int32{-1, -1, 2, 1}) {
		t.Errorf("%+v", got)
	}
	for want, spoil := range map[string]func(d *Dataset){
		"several: Width = -1: must be at least 1, or 0 for 1":            func(d *Dataset) { d.Train.Width = -1 },
		"Train: 6 labels or targets: must be a multiple of Width = 4":    func(d *Dataset) { d.Train.Width, d.Test.Width = 4, 4 },
		"Width: is 2 of the training part and 1 of the test part":        func(d *Dataset) { d.Test.Width = 0 },
		"Train: Floats has 3 values: 6 examples of shape [1] need 6":     func(d *Dataset) { d.Train.Width, d.Test.Width = 1, 1 },
		"Labels: example 1 is -2: must be in [0, 3), or -1 for no label": func(d *Dataset) { d.Train.Labels[2] = -2 },
		"Labels: example 1 is 3: must be in [0, 3), or -1 for no label":  func(d *Dataset) { d.Train.Labels[3] = 3 },
		"Train: Tags need Targets, each 0 or 1":                          func(d *Dataset) { d.Tags = true },
		"Labels: all are 1: must be at least 2 different ones":           func(d *Dataset) { d.Train.Labels = []int32{1, -1, 1, 1, -1, -1} },
	} {
		d := several()
		if spoil(d); d.Check() == nil || !strings.Contains(d.Check().Error(), want) {
			t.Errorf("error %v, want %s", d.Check(), want)
		}
	}
	tags.Train.Targets[3] = 0.5
	expect.Error(t, "Targets: example 1 has the tag 0.5: must be 0 or 1")(tags.Check())
}

// Arrays Y [n, t] are values, tags or labels at positions; bytes may have another scale. Rows that are held back keep theirs.
func TestNPYOfSeveralTargets(t *testing.T) {
	dir := tree(t, map[string]string{
		"x.npy":    npyFile("|u1", "(5, 2)", false, []uint8{0, 0, 1, 10, 2, 20, 3, 30, 4, 40}),
		"f.npy":    npyFile("<f8", "(5, 2)", true, []float64{0, 1, 2, 3, 4, 0.5, 1.5, 2.5, 3.5, 4.5}),
		"tags.npy": npyFile("|b1", "(5, 2)", false, []bool{true, false, false, false, true, true, false, true, true, false}),
		"y.npy":    npyFile("<i8", "(5, 2)", true, []int64{0, 1, 2, 1, 0, -1, -1, 3, -1, 2}),
		"two.npy":  npyFile("<i8", "(5, 2)", true, []int64{0, 1, 2, -2, 0, -1, -1, 3, -1, 2}),
		"wide.npy": npyFile("<f8", "(5, 1)", false, []float64{0, 1, 2, 3, 4}),
	})
	check := func(a NPY, outputs []int, want func(row, column int) float32) {
		t.Helper()
		d := expect.Value(a.in(dir).Make())(t)
		if !slices.Equal(d.Outputs(), outputs) || d.Train.Len() != 4 || d.Test.Len() != 1 || d.Tags != a.Tags {
			t.Errorf("%+v: outputs %v", d, d.Outputs())
		}
		for _, s := range []*Split{&d.Train, &d.Test} {
			for i := range s.Len() {
				labels, targets := s.Truth([]int{i})
				for j := range 2 {
					got := float32(0)
					if labels != nil {
						got = float32(labels[j])
					} else {
						got = targets[j]
					}
					if row := int(s.Bytes[2*i]); got != want(row, j) || s.Scale != 1 {
						t.Errorf("%s: row %d, column %d is %v, want %v", a.Y, row, j, got, want(row, j))
					}
				}
			}
		}
	}
	check(NPY{X: "x.npy", Y: "f.npy", Scale: 1}, []int{2}, func(row, column int) float32 { return float32(row) + 0.5*float32(column) })
	check(NPY{X: "x.npy", Y: "tags.npy", Scale: 1, Tags: true}, []int{2}, func(row, column int) float32 {
		return [][]float32{{1, 0}, {0, 0}, {1, 1}, {0, 1}, {1, 0}}[row][column]
	})
	check(NPY{X: "x.npy", Y: "y.npy", Scale: 1}, []int{2, 4}, func(row, column int) float32 {
		return [][]float32{{0, -1}, {1, -1}, {2, 3}, {1, -1}, {0, 2}}[row][column]
	})
	for want, a := range map[string]NPY{
		"two.npy: row 3 is -2 (int64): must be a whole number in [-1, 65536)": {X: "x.npy", Y: "two.npy"},
		"Scale = +Inf: must be a finite float32, or 0 for the default":        {X: "x.npy", Y: "y.npy", Scale: math.Inf(1)},
		"has the tag 0.5: must be 0 or 1":                                     {X: "x.npy", Y: "f.npy", Tags: true},
		"y.npy has shape [5 2]: must be [5], one value per row of":            {X: "x.npy", Y: "y.npy", Owner: "y.npy"},
		"wide.npy has 1 values per row: must have 2, as":                      {X: "x.npy", Y: "f.npy", TestX: "x.npy", TestY: "wide.npy"},
	} {
		expect.Error(t, want)(a.in(dir).Make())
	}
}
