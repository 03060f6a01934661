package xla

import (
	"fmt"
	"reflect"
	"unsafe"
)

// privateOf names the versions whose private fields fedkit reads, all of them in this file: a backend's client, the builder of a
// program's text, the options of a graph's operations. TestPrivateFields checks other versions for them.
const privateOf = "github.com/gomlx/go-xla v0.4.0, github.com/gomlx/gomlx v0.28.1"

// private returns the pointer in a field of what of points to. It panics as field does.
func private[T any](of any, name string) *T { return *field[*T](of, name) }

// field returns the address of a field of what of points to. If there is none of the type, it panics with the versions that have it.
func field[T any](of any, name string) *T {
	f := fieldOf(reflect.ValueOf(of).Elem(), name)
	if f.Type() != reflect.TypeFor[T]() {
		panic(fmt.Errorf("%T.%s is a %v, not the %v of %s", of, name, f.Type(), reflect.TypeFor[T](), privateOf))
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// fieldOf returns a field of a struct. If there is none, it panics with the versions that have it.
func fieldOf(of reflect.Value, name string) reflect.Value {
	if of.Kind() == reflect.Struct {
		if f := of.FieldByName(name); f.IsValid() {
			return f
		}
	}
	panic(fmt.Errorf("%v has no field %s, which it has in %s", of.Type(), name, privateOf))
}
