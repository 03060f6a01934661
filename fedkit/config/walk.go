package config

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Walk calls visit for v and for every part of it, a part before what is in it: the exported fields of structs in their
// order, what pointers and interfaces hold, the elements of slices, arrays and maps (by sorted key). The path of v is "";
// those of parts read "Aggregator", "Selector.Then", "Parts[2]".
//
// A part comes as it is held: as a pointer if the holder has a pointer, else as a value. The fields of an embedded struct
// are those of its holder. Left out are fields named State, nil pointers and interfaces, channels, and plain values such
// as an int or a string (but not those of a type with a name). A type with a MarshalText method is not entered. Neither is
// a pointer that leads back to what holds it, nor what is nested more than 100 deep.
//
// The first error ends the walk and is returned.
func Walk(v any, visit func(path string, part any) error) error {
	return walk("", reflect.ValueOf(v), nil, visit)
}

func walk(path string, v reflect.Value, above trail, visit func(string, any) error) error {
	held, ok := v, true
	for ok && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		above, ok = above.enter(v)
		v = v.Elem()
	}
	if !ok || !v.IsValid() || plain(v.Type()) {
		return nil
	}
	if err := visit(path, held.Interface()); err != nil {
		return err
	}
	if above, ok = above.enter(v); !ok {
		return nil
	}
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Array) && plain(v.Type().Elem()) {
		return nil // a data set, perhaps
	}
	for _, p := range parts(v) {
		if err := walk(join(path, p.name), p.value, above, visit); err != nil {
			return err
		}
	}
	return nil
}

// part is an exported field, an entry of a map, or an element, with its name in paths.
type part struct {
	name  string
	value reflect.Value
}

// parts returns what a value holds one level below it.
func parts(v reflect.Value) (all []part) {
	switch k := v.Kind(); {
	case isText(v.Type()):
	case k == reflect.Struct:
		return promoted(v, v.Type(), nil, "")
	case k == reflect.Slice, k == reflect.Array:
		for i := range v.Len() {
			all = append(all, part{element(i), v.Index(i)})
		}
	case k == reflect.Map:
		for k, e := range v.Seq2() {
			all = append(all, part{key(k), e})
		}
		slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	}
	return all
}

// promoted returns the exported fields of v, which is embedded in a struct of type outer at index. A field that a
// shallower one hides is named after the embedded type too.
func promoted(v reflect.Value, outer reflect.Type, index []int, prefix string) (all []part) {
	for i := range v.NumField() {
		f, at := v.Type().Field(i), append(slices.Clip(index), i)
		in := v.Field(i)
		if f.Anonymous {
			in = reflect.Indirect(in)
		}
		seen, visible := outer.FieldByName(f.Name)
		shadowed := !visible || !slices.Equal(seen.Index, at)
		switch {
		case f.Name == "State" || !in.IsValid():
		case f.Anonymous && in.Kind() == reflect.Struct && !isText(in.Type()):
			if !shadowed || f.Type.Kind() == reflect.Struct { // else a pointer to its own type
				all = append(all, promoted(in, outer, at, prefix+f.Name+".")...)
			}
		case f.IsExported() && shadowed:
			all = append(all, part{prefix + f.Name, in})
		case f.IsExported():
			all = append(all, part{f.Name, in})
		}
	}
	return all
}

// trail is what was entered to reach a part. Pointers, slices and maps have an address, interfaces have none.
type trail []spot

type spot struct {
	address uintptr
	held    reflect.Type
}

const deepest = 100

// enter adds v to the trail. It is not ok if v is there already, or if the trail is too long.
func (t trail) enter(v reflect.Value) (trail, bool) {
	s := spot{held: v.Type()}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.address = v.Pointer()
	case reflect.Interface:
	default:
		return t, true
	}
	known := s.address != 0 && slices.Contains(t, s)
	return append(slices.Clip(t), s), !known && len(t) < deepest
}

// plain says whether a type has nothing to visit: int, string and the like, channels.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
		return false
	case reflect.Chan, reflect.UnsafePointer:
		return true
	}
	return t.PkgPath() == ""
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// isText says whether a type writes itself as text.
func isText(t reflect.Type) bool {
	return t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler)
}

func element(i int) string { return "[" + strconv.Itoa(i) + "]" }

func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}
