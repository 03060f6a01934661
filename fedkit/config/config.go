// Package config writes down what a Go value is made of, such as a strategy with its options and parts: its type, and the
// exported fields that differ from zero. Equal values have equal configurations, and equal bytes as JSON.
//
// A configuration is a tree of JSON values. A struct or map is an object with one key per field. If it is the root or is
// held in an interface, "type" comes first:
//
//	{"type": "strategy.FedAvg", "Fraction": 0.5, "Local": {"Batch": 16, "LR": 0.1}, "Aggregator": {"type": "aggregate.Median"}}
//
// Other keys in lower case stand for what is not a struct or map: "value" is a number, string, bool or list after its type,
// "func" the name of a function, "unnamed" something that cannot be written, and "len" and "sha256" describe a long list.
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
	"strings"
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

// special are the keys that are not fields.
var special = map[string]bool{"type": true, "value": true, "func": true, "unnamed": true, "len": true, "sha256": true}

// Of returns the configuration of a value, or of what it points to; nil for nil. It has
//
//   - the exported fields of structs, as Walk has them, except those that are zero;
//   - numbers, of which NaN, ±Inf and complex ones are strings;
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
	if !v.IsValid() {
		return nil
	}
	above, ok := above.enter(v)
	if !ok {
		return object{{"unnamed", "too deep"}}
	}
	switch k := v.Kind(); {
	case k == reflect.Interface && !v.IsNil():
		return typed(v.Elem().Type(), of(v.Elem(), above))
	case k == reflect.Interface, k == reflect.Pointer:
		return of(v.Elem(), above)
	case (k == reflect.Slice || k == reflect.Map || k == reflect.Func) && v.IsNil():
		return nil
	case isText(v.Type()):
		return marshaled(v)
	case k == reflect.Struct, k == reflect.Map:
		return fields(v, above)
	case k == reflect.Slice, k == reflect.Array:
		return list(v, above)
	case k == reflect.Func:
		return function(v)
	}
	return basic(v)
}

// typed adds the type of what an interface holds to its configuration.
func typed(t reflect.Type, form any) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	o, isObject := form.(object)
	switch {
	case !isObject:
		o = object{{"value", form}}
	case len(o) > 0 && o[0].name == "type": // of an interface in an interface
		return o
	}
	return append(object{{"type", short(t.String())}}, o...)
}

// fields is the configuration of a struct or a map. Of a struct, it has what differs from zero.
func fields(v reflect.Value, above trail) any {
	all := object{}
	for _, p := range parts(v) {
		c, k := of(p.value, above), p.value.Kind()
		o, isObject := c.(object)
		empty := k == reflect.Struct && isObject && len(o) == 0 // but for its State, say
		if v.Kind() == reflect.Struct && (p.value.IsZero() || empty || k == reflect.Chan || k == reflect.UnsafePointer) {
			continue
		}
		all = append(all, field{p.name, c})
	}
	return all
}

func list(v reflect.Value, above trail) any {
	const longest = 64
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

// basic is the configuration of a bool, a string or a number: nil for a channel.
func basic(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.Kind() == reflect.String:
		return valid(v.String())
	case v.CanInt():
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case v.CanUint():
		return json.Number(strconv.FormatUint(v.Uint(), 10))
	case v.CanComplex():
		return strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())
	case !v.CanFloat():
		return nil
	}
	s := strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
		return s
	}
	return json.Number(s)
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

var unnamed = regexp.MustCompile(`\.func\d|-fm$|-range\d|\[|^reflect\.`)

func function(v reflect.Value) any {
	name := runtime.FuncForPC(v.Pointer()).Name()
	if unnamed.MatchString(name) {
		return object{{"unnamed", "func"}}
	}
	return object{{"func", short(name)}}
}

// key is the name of a map's entry: the key as text, in quotes if it could be mistaken for a special key.
func key(k reflect.Value) string {
	name := (&Config{of(k, nil)}).String()
	if special[name] {
		return strconv.Quote(name)
	}
	return name
}

// valid quotes a string that JSON cannot hold.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.Quote(s)
}

var folders = regexp.MustCompile(`[^\[\]{}*, ]+/`)

// short leaves the folders of packages out of a name: "server.Adam" for "example.com/server.Adam".
func short(name string) string { return folders.ReplaceAllString(name, "") }

// Name returns the name of the value's type, without its package and type arguments: "FedAvg".
func (c *Config) Name() string {
	if c == nil {
		return ""
	}
	o, _ := c.value.(object)
	if o.index("type") < 0 {
		return ""
	}
	kind, _, _ := strings.Cut(bare(o.get("type")), "[")
	return kind[strings.LastIndex(kind, ".")+1:]
}

// Field returns the exported field of a struct, or of the struct v points to; it may be one of an embedded struct. It is
// not valid if there is none. Its tag comes with it.
func Field(v any, name string) (field reflect.Value, tag reflect.StructTag) {
	s := reflect.Indirect(reflect.ValueOf(v))
	if s.Kind() != reflect.Struct {
		return field, tag
	}
	f, ok := s.Type().FieldByName(name)
	if !ok || !f.IsExported() {
		return field, tag
	}
	found, err := s.FieldByIndexErr(f.Index)
	if err != nil || !found.CanInterface() { // in an embedded nil pointer, or an embedded type without a name
		return field, tag
	}
	return found, f.Tag
}

// Unnamed returns the paths of what cannot be written down, so that the configuration is incomplete: functions without a
// name, such as closures, and what is nested in itself or too deep.
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
			if !find(path+element(i), e, name, yield) {
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
