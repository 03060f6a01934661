package partition

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
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
	got := (&Partitioned{Data: owned(), Clients: rule}).Manifest(rule)
	want := Manifest{
		Rule:    "2 clients, given",
		Config:  config.Of(rule),
		Data:    "017a3ade97d67066ae172e7f79bb850bbf2cdbaa0a870c28804a02553638c4a9",
		Clients: "1f979de5e43f15cdba922e56ee7b0a3d93bb4e5bad4ce3cf89199eb888bcb80f",
	}
	expect.That(t, reflect.DeepEqual(got, want), "%+v, want %+v", got, want)
	if s := got.String(); s != "2 clients, given; data 017a3ade97d6, clients 1f979de5e43f" {
		t.Error(s)
	}
}

// Any change gives another hash.
func TestManifestSeesEverything(t *testing.T) {
	seen := map[string]int{hashData(owned()): -1}
	for i, change := range []func(d *datasets.Dataset){
		func(d *datasets.Dataset) { d.Shape[1], d.Shape[0] = 1, 2 },
		func(d *datasets.Dataset) { d.Classes++ },
		func(d *datasets.Dataset) { d.Groups[1]++ },
		func(d *datasets.Dataset) { d.Train.Bytes[3]++ },
		func(d *datasets.Dataset) { d.Inputs = [][]int{{1}, {1}} },
		func(d *datasets.Dataset) { d.Inputs = [][]int{{2}} },
		func(d *datasets.Dataset) { d.Train.Width = 2 },
		func(d *datasets.Dataset) { d.Tags = true },
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
		j, dup := seen[h]
		expect.That(t, !dup, "changes %d and %d have the same hash", i, j)
		seen[h] = i
	}
}

// A manifest survives JSON unchanged: with every seed, and of a long list only its hash.
func TestManifestKeepsTheRule(t *testing.T) {
	given := make(Given, 1000)
	for i := range given {
		given[i] = Client{Train: []int{i}, Test: []int{i}}
	}
	for _, c := range []struct {
		rule Rule
		text string
	}{
		{Noise{Of: Rotations{Of: &Quantity{Of: Dirichlet{Seed: 3}, Seed: 2}}, Seed: 1<<64 - 1},
			"partition.Noise{Of: partition.Rotations{Of: partition.Quantity{Of: partition.Dirichlet{Seed: 3}, Seed: 2}}, Seed: 18446744073709551615}"},
		{given, "partition.Given(1000 elements, SHA-256 "},
	} {
		m := (&Partitioned{Data: owned()}).Manifest(c.rule)
		b, err := json.Marshal(m)
		expect.That(t, err == nil && len(b) <= 1000, "%d bytes, %v", len(b), err)
		var back Manifest
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, m) || !back.Equal(m) {
			t.Errorf("%s came back as %+v, %v", b, back, err)
		}
		got := back.Config.String()
		expect.That(t, strings.HasPrefix(got, c.text), "%s, want %s", got, c.text)
	}
}

func TestManifestsDiffer(t *testing.T) {
	m := (&Partitioned{Data: owned()}).Manifest(IID{Clients: 1, Seed: 7})
	for _, change := range []func(m *Manifest){
		func(m *Manifest) { m.Data = "another" },
		func(m *Manifest) { m.Clients = "another" },
		func(m *Manifest) { m.Config = config.Of(IID{Clients: 1, Seed: 8}) },
	} {
		other := m
		if change(&other); m.Equal(other) {
			t.Errorf("%+v equals %+v", m, other)
		}
	}
}

func BenchmarkManifest(b *testing.B) {
	d := gray(60000, 10000, 28, 10, 10)
	deal := expect.Value(IID{Clients: 1000}.Partition(d))(b)
	for b.Loop() {
		deal.Manifest(IID{Clients: 1000})
	}
}
