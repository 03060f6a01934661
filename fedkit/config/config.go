// Package config writes down what a Go value is made of, such as a strategy with its options and parts: its type, and the
// exported fields that differ from zero. Equal values have equal configurations, and equal bytes as JSON.
//
// A configuration is a tree of JSON values. A struct or map is an object with one key per field, after "type" if it is
// the root or stands in an interface:
//
//	{"type": "strategy.FedAvg", "Fraction": 0.5, "Local": {"Batch": 16, "LR": 0.1}, "Aggregator": {"type": "aggregate.Median"}}
//
// Other keys in lower case say what is no object in Go: "value" is a number, string, bool or list that needs a type, "func"
// the name of a function, "unnamed" stands for what cannot be written, and "len" and "sha256" for a long list.
package config

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"iter"
	"math"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"unicode/utf8"
)

// Config is what a value is made of. Configurations may be compared with reflect.DeepEqual.
type Config struct {
	value any // nil, bool, json.Number, string, []any or object
}

// object is a JSON object whose keys keep their order.
type object []field

type field struct {
	name  string
	value any
}

// special are the keys that are no fields.
var special = map[string]bool{"type": true, "value": true, "func": true, "unnamed": true, "len": true, "sha256": true}

// Of returns the configuration of a value, or of what it points to; nil for nil. It has
//
//   - the exported fields of structs, as Walk has them, but those that are zero or have no field that differs from zero;
//   - numbers as they are, but NaN, ±Inf and complex numbers as strings;
//   - the text of types with a MarshalText method;
//   - the names of functions, "main.train". A closure or a method value has none (see Unnamed);
//   - the entries of maps, sorted by key;
//   - the elements of slices and arrays. Of more than 64 it keeps the number and the SHA-256 of their JSON.
func Of(v any) *Config {
	if c := of(reflect.ValueOf(&v).Elem(), nil); c != nil {
		return &Config{c}
	}
	return nil
}

func of(v reflect.Value, above trail) any {
	in, above, ok := above.follow(v)
	if !ok {
		return object{{"unnamed", "too deep"}}
	}
	form := body(in, above)
	t := heldType(v)
	if t == nil {
		return form
	}
	typed := object{{"type", short(t.String())}}
	if o, ok := form.(object); ok {
		return append(typed, o...)
	}
	return append(typed, field{"value", form})
}

// heldType is the type of what an interface holds; nil if there is no interface, or nothing in it.
func heldType(v reflect.Value) reflect.Type {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Interface || v.IsNil() {
		return nil
	}
	for (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil() {
		v = v.Elem()
	}
	t := v.Type()
	for t.Kind() == reflect.Pointer { // nil
		t = t.Elem()
	}
	return t
}

// body is the configuration of a value whose type is known: nil for nil.
func body(v reflect.Value, above trail) any {
	if !v.IsValid() {
		return nil
	}
	if isText(v.Type()) {
		return marshaled(v)
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Func:
		if v.IsNil() {
			return nil
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return valid(v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return json.Number(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		s := strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return s
		}
		return json.Number(s)
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())
	case reflect.Struct, reflect.Map:
		return entries(v, above)
	case reflect.Slice, reflect.Array:
		return list(v, above)
	case reflect.Func:
		return function(v)
	}
	return nil
}

// entries is the configuration of a struct or a map. Of a struct, it has what differs from zero.
func entries(v reflect.Value, above trail) any {
	all := object{}
	for _, p := range fields(v) {
		if v.Kind() == reflect.Struct && p.value.IsZero() {
			continue
		}
		c := of(p.value, above)
		if o, ok := c.(object); ok && len(o) == 0 && v.Kind() == reflect.Struct && p.value.Kind() == reflect.Struct {
			continue // nothing but its State, say, differs from zero
		}
		if k := p.value.Kind(); k != reflect.Chan && k != reflect.UnsafePointer {
			all = append(all, field{p.name, c})
		}
	}
	return all
}

const longest = 64

func list(v reflect.Value, above trail) any {
	all := make([]any, v.Len())
	for i := range all {
		all[i] = of(v.Index(i), above)
	}
	if c := (&Config{all}); len(all) > longest && len(c.Unnamed()) == 0 {
		sum := sha256.Sum256(appendJSON(nil, all))
		return object{{"len", json.Number(strconv.Itoa(len(all)))}, {"sha256", hex.EncodeToString(sum[:])}}
	}
	return all
}

// unnamed matches the functions that share their name with others: closures, method values, and instances of generic ones.
var unnamed = regexp.MustCompile(`\.func\d|-fm$|-range\d|\[|^reflect\.`)

func function(v reflect.Value) any {
	name := runtime.FuncForPC(v.Pointer()).Name()
	if unnamed.MatchString(name) {
		return object{{"unnamed", "func"}}
	}
	return object{{"func", short(name)}}
}

// marshaled is the text of a type that has a MarshalText method.
func marshaled(v reflect.Value) any {
	p := reflect.New(v.Type()) // the method may be one of the pointer
	p.Elem().Set(v)
	text, err := p.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return object{{"unnamed", err.Error()}}
	}
	return valid(string(text))
}

// key is the name of a map's entry: the key as text. One that could be taken for a key of the JSON form is quoted.
func key(k reflect.Value) string {
	name := (&Config{of(k, nil)}).String()
	if special[name] {
		return strconv.Quote(name)
	}
	return name
}

// valid quotes a string that JSON has no form for.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.Quote(s)
}

var folders = regexp.MustCompile(`[^\[\]{}*, ]+/`)

// short leaves the folders of packages out of a name: "server.Adam" for "example.com/server.Adam".
func short(name string) string { return folders.ReplaceAllString(name, "") }

// Unnamed returns the paths of what cannot be written down, so that the configuration does not say all: functions without
// a name, such as closures, and what leads back to itself.
func (c *Config) Unnamed() (paths []string) {
	for path := range c.Find("unnamed") {
		paths = append(paths, path)
	}
	return paths
}

// Find returns the fields with a name, wherever they are, in order: their paths and values.
func (c *Config) Find(name string) iter.Seq2[string, *Config] {
	return func(yield func(string, *Config) bool) {
		if c != nil {
			find("", c.value, name, yield)
		}
	}
}

func find(path string, v any, name string, yield func(string, *Config) bool) bool {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if !find(path+"["+strconv.Itoa(i)+"]", e, name, yield) {
				return false
			}
		}
	case object:
		for _, f := range v {
			at := path
			if !special[f.name] {
				at = join(path, f.name)
			}
			if f.name == name && !yield(at, &Config{f.value}) || !find(at, f.value, name, yield) {
				return false
			}
		}
	}
	return true
}
