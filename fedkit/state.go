package fedkit

import (
	"fmt"
	"reflect"
)

// failedState returns the error of a matrix that failed and was kept in a State all the same, and where it is.
func failedState(states []any) error {
	for _, state := range states {
		if path, err := failedIn(reflect.ValueOf(state).Elem(), 0); err != nil {
			return fmt.Errorf("%s: %w", "State"+path, err)
		}
	}
	return nil
}

func failedIn(v reflect.Value, depth int) (path string, err error) {
	switch k := v.Kind(); {
	case depth > 100: // a list in a circle, say
	case k == reflect.Pointer && v.Type() == reflect.TypeFor[*Matrix]():
		if m := (*Matrix)(v.UnsafePointer()); m != nil {
			err = m.err
		}
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		return failedIn(v.Elem(), depth+1)
	case k == reflect.Struct:
		for f, in := range v.Fields() {
			if path, err = failedIn(in, depth+1); err != nil {
				return "." + f.Name + path, err
			}
		}
	case (k == reflect.Slice || k == reflect.Array || k == reflect.Map) && mayHold(v.Type().Elem()):
		for key, in := range v.Seq2() {
			if path, err = failedIn(in, depth+1); err != nil {
				return fmt.Sprintf("[%v]%s", key, path), err
			}
		}
	}
	return path, err
}

// mayHold says whether a type can hold a matrix: numbers and strings, of which there may be many, cannot.
func mayHold(t reflect.Type) bool { return t.Kind() >= reflect.Array && t.Kind() != reflect.String }
