package engine

import (
	"fmt"
	"reflect"

	"fedkit.example/fedkit/internal/fault"
)

// CheckKey refuses a part that cannot be a key of the program cache, where equal values must mean equal programs: one that is not
// comparable, and a pointer, behind which a field may change.
func CheckKey(field string, part any) error {
	v := reflect.ValueOf(part)
	switch {
	case !v.IsValid(): // none
	case v.Kind() == reflect.Pointer:
		return fault.Invalid(field, fmt.Sprintf("a %T", part), fmt.Sprintf("a %v: a value, not a pointer to one", v.Type().Elem()))
	case !v.Comparable() || hasPointer(v):
		return fault.Invalid(field, fmt.Sprintf("a %T", part), "of a comparable type, without pointers, slices, maps or functions")
	}
	return nil
}

// hasPointer reports whether a comparable value contains a pointer or a channel.
func hasPointer(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return true
	case reflect.Interface:
		return !v.IsNil() && hasPointer(v.Elem())
	case reflect.Struct:
		for _, f := range v.Fields() {
			if hasPointer(f) {
				return true
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if hasPointer(v.Index(i)) {
				return true
			}
		}
	}
	return false
}
