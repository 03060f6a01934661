package config

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Of returns the configuration of a value, or of what it points to; nil for nil. Fields are those that WalkAll visits; zero fields are
// left out. NaN and ±Inf are strings, and so are values with their own MarshalText method; the bytes of MarshalBinary are kept like a
// long list, and so are strings that are not UTF-8. Functions have a name, such as "main.train", except closures and method values (see
// Unnamed). A slice or array with more than 64 elements is kept as their number and the SHA-256 of their JSON. A part that is no
// strategy may have a method that says in a text all that it is made of, and then nothing else of it counts:
//
//	func (p Part) Key() string
//
// A tag excludes a field that only holds what is computed from the others, such as one that Start sets:
//
//	best *Optimum `config:"-"`
//
// Another tag excludes an option that does not change results, though Walk visits it:
//
//	Concurrency int `results:"same"`
func Of(v any) *Config {
	if v == nil {
		return nil
	}
	return &Config{of(reflect.ValueOf(&v).Elem(), nil)}
}

func of(v reflect.Value, above trail) any {
	above, ok := above.enter(v)
	switch k := v.Kind(); {
	case !ok:
		return map[string]any{"unnamed": "too deep"}
	case v.IsZero() && slices.Contains([]reflect.Kind{reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice}, k):
		return nil
	case k == reflect.Interface:
		return typed(v.Elem().Type(), of(v.Elem(), above))
	case k == reflect.Chan, k == reflect.UnsafePointer:
		return map[string]any{"unnamed": k.String()}
	case k == reflect.Pointer:
		return of(v.Elem(), above)
	case writesItself(v.Type()):
		return written(v)
	case k == reflect.String && !utf8.ValidString(v.String()): // JSON would replace bytes
		return digest(v.Len(), []byte(v.String()))
	case k == reflect.Struct, k == reflect.Map:
		return object(v, above)
	case k == reflect.Slice, k == reflect.Array:
		return list(v, above)
	case k == reflect.Func:
		return function(v)
	}
	return basic(v)
}

// typed adds the type to the configuration of an interface's value.
func typed(t reflect.Type, tree any) any {
	o := map[string]any{"type": strings.TrimLeft(typeName(t), "*")}
	if fields, ok := tree.(map[string]any); ok {
		maps.Copy(o, fields)
	} else {
		o["value"] = tree
	}
	return o
}

// object is the configuration of a struct, without zero fields, or of a map.
func object(v reflect.Value, above trail) any {
	o := map[string]any{}
	for _, p := range parts(v) {
		if p.same {
			continue
		}
		tree := of(p.value, above)
		empty := p.value.Kind() == reflect.Struct && reflect.DeepEqual(tree, map[string]any{}) // with nothing but its State, say
		if v.Kind() != reflect.Map && (p.value.IsZero() || tree == nil || empty) {
			continue
		}
		if _, twice := o[p.name]; twice { // keys of a map that look alike
			tree = map[string]any{"unnamed": "twice"}
		}
		o[p.name] = tree
	}
	if v.Kind() == reflect.Struct {
		nameFunctions(o)
	}
	return o
}

// nameFunctions names the closures among a struct's fields by its field Name.
func nameFunctions(o map[string]any) {
	name, _ := o["Name"].(string)
	for field, tree := range o {
		if f, ok := tree.(map[string]any); ok && name != "" && len(f) == 1 && f["unnamed"] == "func" {
			o[field] = map[string]any{"func": name}
		}
	}
}

func list(v reflect.Value, above trail) any {
	n := v.Len()
	if n > 64 && plain(v.Type().Elem()) && v.Type().Elem().Kind() != reflect.String {
		return digest(n, v.Interface())
	}
	all := make([]any, n)
	for i := range all {
		all[i] = of(v.Index(i), above)
	}
	if n > 64 && unnamed("", all) == nil {
		return digest(n, all)
	}
	return all
}

// digest returns the length and hash of a list of n elements.
func digest(n int, list any) any {
	b, err := json.Marshal(list)
	if err != nil { // NaN and ±Inf
		b = fmt.Append(nil, list)
	}
	return map[string]any{"len": json.Number(strconv.Itoa(n)), "sha256": fmt.Sprintf("%x", sha256.Sum256(b))}
}

// basic is the configuration of a bool, a string or a number.
func basic(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case v.CanUint():
		return json.Number(strconv.FormatUint(v.Uint(), 10))
	case v.CanComplex():
		return strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())
	}
	s := strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	if strings.ContainsAny(s, "NI") { // NaN, ±Inf
		return s
	}
	return json.Number(s)
}

// writesItself reports whether a type, or a pointer to it, has a Key, MarshalText or MarshalBinary method that is not promoted from an
// embedded field.
func writesItself(t reflect.Type) bool {
	if runs(t) {
		return false
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		if f := t.Field(i); f.Anonymous && marshals(f.Type) {
			return false
		}
	}
	return marshals(t)
}

func marshals(t reflect.Type) bool {
	for _, is := range []reflect.Type{reflect.TypeFor[keyed](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.BinaryMarshaler]()} {
		if t.Implements(is) || reflect.PointerTo(t).Implements(is) {
			return true
		}
	}
	return false
}

type keyed interface{ Key() string }

// written is the configuration of a value that says itself what it is: its key, its text, or the length and hash of its bytes.
func written(v reflect.Value) any {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	var b []byte
	var err error
	if k, is := p.Interface().(keyed); is {
		return map[string]any{"key": of(reflect.ValueOf(k.Key()), nil)}
	} else if m, is := p.Interface().(encoding.TextMarshaler); is {
		if b, err = m.MarshalText(); err == nil {
			return string(b)
		}
	} else if b, err = p.Interface().(encoding.BinaryMarshaler).MarshalBinary(); err == nil {
		return digest(len(b), b)
	}
	return map[string]any{"unnamed": err.Error()}
}

var (
	nameless = regexp.MustCompile(`\.func\d|-fm$|-range\d|\[|^reflect\.`)
	folders  = regexp.MustCompile(`\bfedkit\.example/(?:[^\[\]{}*, ]+/)?`)
)

func function(v reflect.Value) any {
	name := runtime.FuncForPC(v.Pointer()).Name()
	if nameless.MatchString(name) {
		return map[string]any{"unnamed": "func"}
	}
	return map[string]any{"func": short(name)}
}

// short drops the folders of fedkit's own packages from a name: "server.Adam". Other packages keep them, since their names may
// clash.
func short(name string) string { return folders.ReplaceAllString(name, "") }

// typeName returns the name of a type, with full paths of packages that are not fedkit's.
func typeName(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return "*" + typeName(t.Elem())
	case t.PkgPath() != "":
		return short(t.PkgPath() + "." + t.Name())
	case k == reflect.Slice:
		return "[]" + typeName(t.Elem())
	case k == reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), typeName(t.Elem()))
	case k == reflect.Map:
		return "map[" + typeName(t.Key()) + "]" + typeName(t.Elem())
	}
	return short(t.String())
}
