package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Types returns a hash of the types of values and their parts, with the fields of each; "" if all of them are fedkit's. It
// distinguishes types of the same name that are declared in different functions, if their fields differ.
func Types(values ...any) string {
	all := map[string]bool{}
	w := walker{hidden: true, visit: func(_ string, _, v reflect.Value) error {
		if foreign(v.Type()) {
			all[layout(v.Type(), nil)] = true
		}
		return nil
	}}
	for _, v := range values {
		_ = w.walk("", reflect.ValueOf(&v).Elem(), nil)
	}
	if len(all) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(all)), "\n")))
	return fmt.Sprintf("%x", sum[:6])
}

// foreign reports whether a type is declared outside fedkit; fedkit's tests count as outside.
func foreign(t reflect.Type) bool {
	path := t.PkgPath()
	return path != "" && (!strings.HasPrefix(path, "fedkit.example/") || strings.HasSuffix(path, "_test"))
}

// layout returns the name of a type and, if it is foreign, its fields or elements.
func layout(t reflect.Type, above []reflect.Type) string {
	name, inside := typeName(t), ""
	if t.PkgPath() != "" && !foreign(t) || slices.Contains(above, t) {
		return name
	}
	above = append(slices.Clip(above), t)
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			inside += fmt.Sprintf("%s %v %s; ", f.Name, f.Anonymous, layout(f.Type, above))
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		inside = layout(t.Elem(), above)
	}
	return name + "{" + inside + "}"
}
