package datasets

import (
	"reflect"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

func TestJoin(t *testing.T) {
	table := &Dataset{Name: "table", Shape: []int{1}, Classes: 3,
		Train: Split{Floats: []float32{7, 8}, Labels: []int32{0, 2}}, Test: Split{Floats: []float32{9}, Labels: []int32{1}}}
	d := expect.Value(Join(small(), table, table))(t)
	if d.Name != "small + table + table" || !reflect.DeepEqual(d.Inputs, [][]int{{1, 2, 1}, {1}, {1}}) || !slices.Equal(d.Shape, []int{4}) {
		t.Errorf("%+v", d)
	}
	if want := []float32{-1, 4, 7, 7, 9, 14, 8, 8}; !slices.Equal(d.Train.Floats, want) || !slices.Equal(d.Test.Floats, []float32{0.25, 4, 9, 9}) {
		t.Errorf("%v and %v, want %v", d.Train.Floats, d.Test.Floats, want)
	}
	bytes := small()
	bytes.Test = bytes.Train
	twice := expect.Value(Join(bytes, bytes))(t)
	if !slices.Equal(twice.Train.Bytes, []uint8{0, 10, 0, 10, 20, 30, 20, 30}) || twice.Train.Scale != 0.5 || twice.Train.Shift != -1 {
		t.Errorf("%+v", twice.Train)
	}
	nested := expect.Value(Join(d, table))(t)
	expect.That(t, len(nested.Inputs) == 4 && slices.Equal(nested.Test.Floats, []float32{0.25, 4, 9, 9, 9}), "%+v", nested)
	other := *table
	other.Train.Labels = []int32{2, 0}
	expect.Error(t, "datasets: Join: data set 1 (table): must have the labels or targets, owners and groups of data set 0 (small), row by row")(Join(small(), &other))
	expect.Error(t, "datasets: Join: 1 data sets: must be at least 2")(Join(table))
	expect.Error(t, "datasets: the data set is nil")(Join(table, nil))
	d.Inputs[1] = []int{2}
	expect.Error(t, "Inputs = [[1 2 1] [2] [1]]: need the Shape [5], not [4]")(d.Check())
	d.Inputs[1] = []int{0}
	expect.Error(t, "Inputs = [[1 2 1] [0] [1]]: every dimension must be at least 1")(d.Check())
}
