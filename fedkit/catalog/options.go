package catalog

import (
	"encoding"
	"reflect"
)

// Options returns the names of what can be set in a struct. Those of an embedded struct are among its own.
func Options(t reflect.Type) (names []string) {
	for _, f := range fields(t) {
		names = append(names, f.Name)
	}
	return names
}

// fields returns what can be set in a struct: exported fields, with those of embedded structs in place, without those of a State.
func fields(t reflect.Type) (all []reflect.StructField) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct
		if f.IsExported() && !embedded && f.Name != "State" && holder(t, f).Name() != "State" {
			all = append(all, f)
		}
	}
	return all
}

// holder returns the struct that declares a field: t or one that is embedded in it.
func holder(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// constants returns the names of an enumeration's values 0, 1, …; nil for any other type.
func constants(t reflect.Type) []string {
	if t.PkgPath() == "" || t.Kind() != reflect.Int {
		return nil
	}
	return known.constantsOf(t.String())
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
