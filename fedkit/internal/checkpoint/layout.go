package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/internal/tree"
)

// layout returns the type of every field of the States, by its path.
func (s States) layout() map[string]string {
	types := map[string]string{}
	for i, state := range s {
		path := "State"
		if i > 0 { // of a wrapped strategy
			path += strconv.Itoa(i + 1)
		}
		flatten(path, reflect.TypeOf(state).Elem(), types)
	}
	return types
}

func flatten(path string, t reflect.Type, types map[string]string) {
	if t.Kind() != reflect.Struct || tree.SavesItself(t) {
		types[path] = typeOf(t, nil)
		return
	}
	for f := range t.Fields() {
		flatten(path+"."+f.Name, f.Type, types)
	}
}

// differLayouts lists the fields in which two layouts differ.
func differLayouts(was, is map[string]string) (fields []string) {
	all := maps.Clone(is)
	maps.Copy(all, was)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		queue := is[path] == "" && (strings.HasSuffix(path, ".Queue.Now") || strings.HasSuffix(path, ".Queue.Events"))
		if was[path] != is[path] && !queue { // flight.InFlight had a queue, which said nothing that its jobs do not
			fields = append(fields, fmt.Sprintf("%s: %s, was %s", path, cmp.Or(is[path], "missing"), cmp.Or(was[path], "missing")))
		}
	}
	return fields
}

// typeOf writes a type with the types of its fields and elements.
func typeOf(t reflect.Type, above []reflect.Type) string {
	if t == reflect.TypeFor[rows.Matrix]() {
		return "fedkit.Matrix" // its name before it had a package of its own
	}
	if tree.SavesItself(t) || slices.Contains(above, t) {
		return t.String()
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Struct:
		var fields []string
		for f := range t.Fields() {
			fields = append(fields, f.Name+" "+typeOf(f.Type, above))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case reflect.Pointer:
		return "*" + typeOf(t.Elem(), above)
	case reflect.Slice, reflect.Array:
		return "[]" + typeOf(t.Elem(), above)
	case reflect.Map:
		return "map[" + typeOf(t.Key(), above) + "]" + typeOf(t.Elem(), above)
	}
	return t.Kind().String()
}
