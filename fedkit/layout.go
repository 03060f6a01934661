package fedkit

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/tree"
)

// layoutOf returns the type of every field of States, by its path.
func layoutOf(states []any) map[string]string {
	types := map[string]string{}
	for i, state := range states {
		path := "State"
		if i > 0 { // of a strategy that the one before wraps
			path += strconv.Itoa(i + 1)
		}
		flatten(path, reflect.TypeOf(state).Elem(), types)
	}
	return types
}

func flatten(path string, t reflect.Type, types map[string]string) {
	if t.Kind() != reflect.Struct || tree.SavesItself(t) {
		types[path] = layout(t, nil)
		return
	}
	for i := range t.NumField() {
		flatten(path+"."+t.Field(i).Name, t.Field(i).Type, types)
	}
}

// differLayouts says field by field in what two layouts differ.
func differLayouts(was, is map[string]string) (fields []string) {
	all := maps.Clone(is)
	maps.Copy(all, was)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if was[path] != is[path] {
			fields = append(fields, fmt.Sprintf("%s: %s, was %s", path, cmp.Or(is[path], "missing"), cmp.Or(was[path], "missing")))
		}
	}
	return fields
}

func layout(t reflect.Type, above []reflect.Type) string {
	if t == reflect.TypeFor[Matrix]() {
		return "fedkit.Matrix" // as it was written before it had a package of its own
	}
	if tree.SavesItself(t) || slices.Contains(above, t) {
		return t.String()
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Field(i).Name+" "+layout(t.Field(i).Type, above))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case reflect.Pointer:
		return "*" + layout(t.Elem(), above)
	case reflect.Slice, reflect.Array:
		return "[]" + layout(t.Elem(), above)
	case reflect.Map:
		return "map[" + layout(t.Key(), above) + "]" + layout(t.Elem(), above)
	}
	return t.Kind().String()
}
