package fedkit

import (
	"hash/maphash"
	"reflect"
	"unsafe"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
)

// origin holds hashes of what a federation was made from, through pointers and slices, to detect later changes. They take a few
// milliseconds for MNIST, and are valid in this process only.
type origin struct {
	data    [3]uint64 // training part, test part, the rest
	clients uint64
	task    uint64
	kept    Task // keeps the task's closures alive, so that no other function gets the address of one
}

func originOf(d *datasets.Dataset, clients []partition.Client, t *Task) *origin {
	return &origin{[3]uint64{sumOf(d.Train), sumOf(d.Test), sumOf([]any{d.Shape, d.Classes, d.Groups})}, sumOf(clients), sumOf(*t), *t}
}

// unchanged refuses a federation that was changed after it was made: its data may be on the device already, its programs compiled,
// and its results would be stored under the identity of the original.
func (f *Federation) unchanged() error {
	was, is := f.origin, originOf(f.Data, f.Clients, f.Task)
	for _, part := range []struct {
		name   string
		same   bool
		remedy string
	}{
		{"Federation.Data.Train", was.data[0] == is.data[0], "WithData has a copy in its place"},
		{"Federation.Data.Test", was.data[1] == is.data[1], "WithData has a copy in its place"},
		{"Federation.Data", was.data[2] == is.data[2], "fedkit.New takes other data"},
		{"Federation.Clients", was.clients == is.clients, "partition.Given and fedkit.New take other clients, HoldOut leaves some out"},
		{"Federation.Task", was.task == is.task, "fedkit.New takes a model that makes another task"},
	} {
		if !part.same {
			return Invalid(part.name, "changed", "what it was when the federation was made: "+part.remedy)
		}
	}
	if f.Unseen != nil {
		return f.Unseen.unchanged()
	}
	return nil
}

var sumSeed = maphash.MakeSeed()

// sumOf returns a hash of a value made of numbers, strings, functions and pointers (by address), and slices and structs of them.
func sumOf(v any) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	addTo(&h, reflect.ValueOf(v))
	return h.Sum64()
}

func addTo(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Struct:
		for _, f := range v.Fields() {
			addTo(h, f)
		}
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		if k := v.Type().Elem().Kind(); k >= reflect.Bool && k <= reflect.Complex128 {
			_, _ = h.Write(unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size())))
			return
		}
		for i := range v.Len() {
			addTo(h, v.Index(i))
		}
	case reflect.Interface:
		addTo(h, v.Elem())
	case reflect.Func: // the closure's address, not the code's: closures of one function may capture different values
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		maphash.WriteComparable(h, *(*uintptr)(p.UnsafePointer()))
	case reflect.Pointer:
		maphash.WriteComparable(h, v.Pointer())
	default:
		maphash.WriteComparable(h, v.Interface())
	}
}
