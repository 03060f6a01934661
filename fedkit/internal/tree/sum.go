package tree

import (
	"hash/maphash"
	"reflect"
	"unsafe"
)

var sumSeed = maphash.MakeSeed()

// Sum returns a hash of a value made of numbers, strings, functions and pointers (by address), and slices and structs of them. Two functions
// have the same if they are one, as long as both are in use.
func Sum(v any) uint64 {
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
	case reflect.Bool: // of an unexported field too
		maphash.WriteComparable(h, v.Bool())
	default:
		maphash.WriteComparable(h, v.Interface())
	}
}
