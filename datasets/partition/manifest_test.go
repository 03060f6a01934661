package partition

import (
	"reflect"
	"testing"

	"fedkit.example/datasets"
)

func owned() *datasets.Dataset {
	return &datasets.Dataset{
		Name: "small", Shape: []int{1, 2, 1}, Classes: 3, Groups: []int{4, 5},
		Train: datasets.Split{Bytes: []uint8{0, 10, 20, 30}, Scale: 0.5, Shift: -1, Labels: []int32{0, 2}, Owner: []int32{0, 1}},
		Test:  datasets.Split{Floats: []float32{0.25, 4}, Labels: []int32{1}, Owner: []int32{1}},
	}
}

// The hashes are those of Python 3.11's hashlib over struct.pack of the values in the order the documentation gives.
func TestManifest(t *testing.T) {
	rule := Given{{Train: []int{0}}, {Train: []int{1}, Test: []int{0}, Group: 3}}
	got := (&Deal{Data: owned(), Clients: rule}).Manifest(rule)
	want := Manifest{
		Rule:    "2 clients, given",
		Data:    "017a3ade97d67066ae172e7f79bb850bbf2cdbaa0a870c28804a02553638c4a9",
		Clients: "1f979de5e43f15cdba922e56ee7b0a3d93bb4e5bad4ce3cf89199eb888bcb80f",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s := got.String(); s != "2 clients, given; seeds []; data 017a3ade97d6, clients 1f979de5e43f" {
		t.Error(s)
	}
}

// Whatever is changed, the hash is another.
func TestManifestSeesEverything(t *testing.T) {
	seen := map[string]int{hashData(owned()): -1}
	for i, change := range []func(d *datasets.Dataset){
		func(d *datasets.Dataset) { d.Shape[1], d.Shape[0] = 1, 2 },
		func(d *datasets.Dataset) { d.Classes++ },
		func(d *datasets.Dataset) { d.Groups[1]++ },
		func(d *datasets.Dataset) { d.Train.Bytes[3]++ },
		func(d *datasets.Dataset) { d.Train.Scale++ },
		func(d *datasets.Dataset) { d.Train.Shift++ },
		func(d *datasets.Dataset) { d.Train.Labels[0]++ },
		func(d *datasets.Dataset) { d.Train.Owner[0]++ },
		func(d *datasets.Dataset) { d.Test.Floats[0]++ },
		func(d *datasets.Dataset) { d.Test.Floats, d.Test.Targets = nil, d.Test.Floats },
		func(d *datasets.Dataset) { d.Train, d.Test = d.Test, d.Train },
	} {
		d := owned()
		change(d)
		h := hashData(d)
		if j, dup := seen[h]; dup {
			t.Errorf("changes %d and %d have the same hash", i, j)
		}
		seen[h] = i
	}
}

func TestSeeds(t *testing.T) {
	rule := Noise{Of: Rotations{Of: &Quantity{Of: Dirichlet{Seed: 3}, Seed: 2}}, Seed: 1}
	if got, want := seeds(rule), []uint64{1, 2, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, rule := range []Rule{nil, Given{}, Quantity{Of: nil}, wrongRule{}, (*IID)(nil)} {
		if got := seeds(rule); len(got) > 1 {
			t.Errorf("%T: %v", rule, got)
		}
	}
}

func BenchmarkManifest(b *testing.B) {
	d := grey(60000, 10000, 28, 10, 10)
	deal, err := IID{Clients: 1000}.Deal(d)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		deal.Manifest(IID{Clients: 1000})
	}
}
