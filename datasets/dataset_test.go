package datasets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

func small() *Dataset {
	return &Dataset{
		Name: "small", Shape: []int{1, 2, 1}, Classes: 3,
		Train: Split{Bytes: []uint8{0, 10, 20, 30}, Scale: 0.5, Shift: -1, Labels: []int32{0, 2}},
		Test:  Split{Floats: []float32{0.25, 4}, Labels: []int32{1}},
	}
}

func TestRow(t *testing.T) {
	d := small()
	if got, want := d.Train.Row(1, nil), []float32{9, 14}; !slices.Equal(got, want) {
		t.Errorf("bytes: %v, want %v", got, want)
	}
	dst := make([]float32, 2)
	if got, want := d.Test.Row(0, dst), []float32{0.25, 4}; !slices.Equal(got, want) || &got[0] != &dst[0] {
		t.Errorf("floats: %v, want %v in dst", got, want)
	}
	expect.That(t, d.Features() == 2 && d.Train.Len() == 2 && d.Test.Len() == 1,
		"%d features, %d train and %d test rows", d.Features(), d.Train.Len(), d.Test.Len())
}

func TestCheck(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Error(err)
	}
	one := small() // class in each part, as clients of a skewed federation have it
	if one.Train.Labels[0] = 2; one.Check() != nil {
		t.Error(one.Check())
	}
	expect.Error(t)((*Dataset)(nil).Check())
	for want, spoil := range map[string]func(d *Dataset){
		"Shape = [1 0 1]: every dimension must be at least 1":    func(d *Dataset) { d.Shape[1] = 0 },
		"Classes = 1: must be at least 2":                        func(d *Dataset) { d.Classes = 1 },
		"Train: no examples":                                     func(d *Dataset) { d.Train.Labels = nil },
		"Train: exactly one of Labels and Targets":               func(d *Dataset) { d.Train.Targets = []float32{1, 2} },
		"Test: exactly one of Bytes and Floats":                  func(d *Dataset) { d.Test.Floats = nil },
		"Train: Bytes has 3 values: 2 examples of shape":         func(d *Dataset) { d.Train.Bytes = d.Train.Bytes[:3] },
		"Test: Floats has 3 values: 1 examples of shape":         func(d *Dataset) { d.Test.Floats = make([]float32, 3) },
		"Train: Scale = 0":                                       func(d *Dataset) { d.Train.Scale = 0 },
		"Train: Labels need Classes":                             func(d *Dataset) { d.Classes = 0 },
		"Test: Targets need Classes = 0":                         func(d *Dataset) { d.Test.Labels, d.Test.Targets = nil, []float32{1} },
		"Train: Owner has 1 entries: must have 2":                func(d *Dataset) { d.Train.Owner = []int32{0} },
		"Train: Owner: example 1 is -1: must be at least 0":      func(d *Dataset) { d.Train.Owner = []int32{0, -1} },
		"Train: Owner: example 1 is 2: must be in [0, 2)":        func(d *Dataset) { d.Train.Owner, d.Groups = []int32{0, 2}, []int{0, 1} },
		"small: Owner: must be known for both parts or for":      func(d *Dataset) { d.Train.Owner = []int32{0, 1} },
		"Test: Floats: example 0 holds NaN: values must be":      func(d *Dataset) { d.Test.Floats[1] = float32(math.NaN()) },
		"Train: Labels: example 1 is 3: must be in [0, 3)":       func(d *Dataset) { d.Train.Labels[1] = 3 },
		"Train: Labels: example 0 is -1: must be in [0, 3)":      func(d *Dataset) { d.Train.Labels[0] = -1 },
		"small: Coarse has 2 entries: must have 3, one per cla":  func(d *Dataset) { d.Coarse = []int{0, 1} },
		"small: Coarse: class 1 has the superclass 3: must be i": func(d *Dataset) { d.Coarse = []int{0, 3, 0} },
		"small: Labels: all are 2: must be at least 2 different": func(d *Dataset) { d.Train.Labels[0], d.Test.Labels[0] = 2, 2 },
		"Test: Targets: example 0 is +Inf: values must be fini":  func(d *Dataset) { *d = *line(float32(math.Inf(1))) },
	} {
		d := small()
		spoil(d)
		expect.Error(t, want)(d.Check())
	}
}

// line is a regression with one test target.
func line(target float32) *Dataset {
	return &Dataset{
		Name: "line", Shape: []int{1},
		Train: Split{Floats: []float32{1, 2}, Targets: []float32{3, 4}},
		Test:  Split{Floats: []float32{1}, Targets: []float32{target}},
	}
}

func TestPartsAsText(t *testing.T) {
	if got := fmt.Sprint(TrainPart, ", ", TestPart, ", ", ValidationPart, ", ", Part(7)); got != "training part, test part, validation part, Part(7)" {
		t.Error(got)
	}
}
