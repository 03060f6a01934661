package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Walk visits v and all of its parts in pre-order: the exported fields of structs in declaration order, the targets of pointers and
// interfaces, the elements of slices, arrays and maps (by sorted key). Paths are "" for v, "Aggregator", "Selector.Then",
// "Parts[2]". A part is passed as a pointer if it is held by one, else as a value. The fields of an embedded struct are visited as
// its holder's.
//
// Left out are the State of a strategy, fields tagged `config:"-"`, nil, channels, and unnamed basic types such as int or string. Walk
// does not descend into types with a Key, MarshalText or MarshalBinary method, cycles, or more than 100 levels. The first error ends
// the walk and is returned.
func Walk(v any, visit func(path string, part any) error) error { return walk(v, false, visit) }

// WalkAll is Walk, but visits unexported fields too.
func WalkAll(v any, visit func(path string, part any) error) error { return walk(v, true, visit) }

func walk(v any, hidden bool, visit func(path string, part any) error) error {
	w := walker{hidden: hidden, visit: func(path string, held, _ reflect.Value) error { return visit(path, held.Interface()) }}
	return w.walk("", reflect.ValueOf(v), nil)
}

// walker is what a walk does.
type walker struct {
	visit  func(path string, held, v reflect.Value) error      // v is what held points to
	wrong  func(path string, t reflect.Type, cycle bool) error // for a typed nil in an interface, or a cycle
	hidden bool                                                // unexported fields too
}

func (w walker) walk(path string, v reflect.Value, above trail) error {
	held := v
	above, ok := above.enter(v)
	for ok && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		in := v.Elem()
		if k := in.Kind(); w.wrong != nil && v.Kind() == reflect.Interface && (k == reflect.Pointer || k == reflect.Func) && in.IsNil() {
			return w.wrong(path, in.Type(), false)
		}
		v = in
		above, ok = above.enter(v)
	}
	if !ok && v.IsValid() && w.wrong != nil && cyclic(v) {
		return w.wrong(path, v.Type(), true)
	}
	if !ok || plain(v.Type()) {
		return nil
	}
	if err := w.visit(path, held, v); err != nil {
		return err
	}
	for _, p := range parts(v) {
		if p.hidden && !w.hidden {
			continue
		}
		if err := w.walk(join(path, p.name), p.value, above); err != nil {
			return err
		}
	}
	return nil
}

// Unset returns the path and the type of the first interface in v that holds a typed nil pointer or function, which is not nil itself
// but whose methods panic, or of the first part of fedkit's that contains itself, whose methods do not return. The type is nil if there
// is none.
func Unset(v any) (path string, wrong reflect.Type, cycle bool) {
	_ = walker{
		visit: func(string, reflect.Value, reflect.Value) error { return nil },
		wrong: func(at string, t reflect.Type, again bool) error { path, wrong, cycle = at, t, again; return errFound },
	}.walk("", reflect.ValueOf(&v).Elem(), nil)
	return path, wrong, cycle
}

// cyclic reports whether a value at which a walk ends is of a type whose methods would never return: not one of a user, who may link
// parts both ways.
func cyclic(v reflect.Value) bool {
	k := v.Kind()
	return (k == reflect.Pointer || (k == reflect.Slice || k == reflect.Map) && v.Len() > 0) && v.Type().Elem().PkgPath() != "" && !foreign(v.Type().Elem())
}

var errFound = errors.New("found")

// plain reports whether a type has no parts to visit: an unnamed basic type or a channel.
func plain(t reflect.Type) bool {
	k := t.Kind()
	return k == reflect.Chan || k == reflect.UnsafePointer || t.PkgPath() == "" && (k < reflect.Array || k == reflect.String)
}

// part is a field, an entry of a map, or an element, with its name in paths.
type part struct {
	name   string
	value  reflect.Value
	hidden bool // an unexported field
	same   bool // a field that does not change results
}

// parts returns the children of a value, but not plain elements, which may be a whole data set.
func parts(v reflect.Value) (all []part) {
	switch k := v.Kind(); {
	case writesItself(v.Type()):
	case k == reflect.Struct:
		return fields(v)
	case (k == reflect.Slice || k == reflect.Array) && !plain(v.Type().Elem()):
		for i := range v.Len() {
			all = append(all, part{name: element(i), value: v.Index(i)})
		}
	case k == reflect.Map:
		for k, e := range v.Seq2() {
			all = append(all, part{name: unlike(special, (&Config{of(k, nil)}).String()), value: e})
		}
		slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	}
	return all
}

// unlike quotes a name that would clash with one of the others.
func unlike(others []string, name string) string {
	if slices.Contains(others, name) {
		return strconv.Quote(name)
	}
	return name
}

// fields returns the fields of a struct, with those of embedded structs in their place. A field that another one of the same name hides
// has a name with that of its struct: "FedAvg.Local".
func fields(v reflect.Value) (all []part) {
	if !v.CanAddr() { // an unexported field is read at its address
		at := reflect.New(v.Type()).Elem()
		at.Set(v)
		v = at
	}
	var add func(s reflect.Value, path string, index []int, in []reflect.Type)
	add = func(s reflect.Value, path string, index []int, in []reflect.Type) { // path and index of a struct, and in which ones it is
		in = append(slices.Clip(in), s.Type())
		for f, value := range s.Fields() {
			if excluded(f, in) {
				continue
			}
			name, at := f.Name, append(slices.Clip(index), f.Index...)
			if seen, ok := v.Type().FieldByName(name); !ok || !slices.Equal(seen.Index, at) {
				name = path + name
			}
			p := part{name: name, value: value, hidden: !value.CanInterface(), same: f.Tag.Get("results") == "same"}
			if p.hidden {
				p.name, p.value = unlike(special, name), reflect.NewAt(f.Type, value.Addr().UnsafePointer()).Elem()
			}
			if inner := reflect.Indirect(p.value); !flattened(f) || inner.IsValid() && (inner.Kind() != reflect.Struct || slices.Contains(in, inner.Type())) {
				all = append(all, p)
			} else if inner.IsValid() { // not an embedded nil pointer
				add(inner, path+f.Name+".", at, in)
			}
		}
	}
	add(v, "", nil, nil)
	return all
}

// flattened reports whether an embedded struct is replaced by its fields.
func flattened(f reflect.StructField) bool { return f.Anonymous && !writesItself(f.Type) }

// excluded reports whether a field is not an option: it is tagged, a lock or atomic, or the State of a strategy, which is one of the
// structs that hold it.
func excluded(f reflect.StructField, in []reflect.Type) bool {
	locks := !f.IsExported() && (f.Type.PkgPath() == "sync" || f.Type.PkgPath() == "sync/atomic")
	return locks || f.Tag.Get("config") == "-" || f.Name == "State" && slices.ContainsFunc(in, runs)
}

// runs reports whether a type, or a pointer to it, has the method Round of a strategy.
func runs(t reflect.Type) bool {
	m, ok := reflect.PointerTo(t).MethodByName("Round")
	return ok && m.Type.NumIn() == 2 && m.Type.NumOut() == 1 && m.Type.Out(0) == reflect.TypeFor[error]()
}

// trail is the path to a part, to detect cycles: pointers, slices and maps by address, and nil for anything else.
type trail []any

// enter adds v to the trail. It is not ok if v is invalid or a cycle, or if the trail is too long.
func (t trail) enter(v reflect.Value) (trail, bool) {
	var spot any
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		spot = [2]any{v.Type(), v.UnsafePointer()}
	}
	known := spot != nil && slices.Contains(t, spot)
	return append(slices.Clip(t), spot), v.IsValid() && !known && len(t) < 100
}

func element(i int) string { return "[" + strconv.Itoa(i) + "]" }

func join(path, name string) string {
	switch {
	case name == "value": // of a typed value that is not an object
		return path
	case path == "", strings.HasPrefix(name, "["):
		return path + name
	}
	return path + "." + name
}

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
