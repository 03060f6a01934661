package catalog

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/nearest"
	"fedkit.example/fedkit/internal/text"
)

// Build makes a value, such as a fedkit.Strategy or fedkit.Options, from a tree as read from YAML or JSON: a name, a text for
// Parse, or a map of options in which "type" is the name. Names match regardless of case, dashes, underscores and package. Build
// is the inverse of config.Of, and takes a *config.Config too.
//
//	catalog.Build[fedkit.Aggregator](map[string]any{"type": "Krum", "F": 2})
//
// An explicit 0 is 0, or refused, even if a field's zero value stands for a default by its tag; options that are left out have
// their defaults. The constants Zero and FullBatch are known by name, and so are +Inf, and durations such as 30s.
//
// The error names the option and what is allowed, and suggests the nearest name for an unknown one. Whether options suit each
// other and the data is not checked: see fedkit.Check.
func Build[T any](tree any) (value T, err error) {
	if c, ok := tree.(*config.Config); ok {
		if tree, err = plain(c); err != nil {
			return value, err
		}
	}
	err = set("", reflect.ValueOf(&value).Elem(), tree)
	return value, err
}

// plain returns the tree of a configuration.
func plain(c *config.Config) (tree any, err error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	return tree, d.Decode(&tree)
}

// set sets v, at the path, to the value of the tree. A nil tree leaves it as it is.
func set(path string, v reflect.Value, tree any) error {
	if tree == nil {
		return nil
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return setText(path, t, tree)
	}
	switch v.Kind() {
	case reflect.Interface:
		return setPart(path, v, tree)
	case reflect.Struct:
		return setStruct(path, v, tree)
	case reflect.Slice:
		return setList(path, v, tree)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		err := set(path, p.Elem(), tree)
		v.Set(p)
		return err
	}
	return setBasic(path, v, tree)
}

// setPart sets a field to a component of a kind.
func setPart(path string, v reflect.Value, tree any) error {
	k, known := kindOf(v.Type())
	if !known {
		return fedkit.Invalid(path, word(tree), fmt.Sprintf("a %v, which can be made in Go only", v.Type()))
	}
	if part, ok := k.number(tree); ok {
		v.Set(part)
		return nil
	}
	options, err := object(tree)
	if err != nil {
		return err
	}
	if options == nil {
		return fedkit.Invalid(cmp.Or(path, k.Name), word(tree), "the name of "+k.a()+" and its options, such as "+k.Components()[0].Name)
	}
	name, _ := options[key(options, "type")].(string)
	var names []string
	for _, t := range k.Components() {
		if !reflect.TypeOf(t.zero).Implements(v.Type()) {
			continue
		}
		if names = append(names, t.Name); !t.named(name) {
			continue
		}
		part := t.new()
		if part.CanFloat() { // the form that config.Of gives
			return set(path, v, options[key(options, "value")])
		}
		if err := setStruct(path, reflect.Indirect(part), options); err != nil {
			return err
		}
		v.Set(part)
		return nil
	}
	if name == "" {
		return fedkit.Invalid(cmp.Or(path, k.Name), word(tree), "the name of "+k.a()+": "+strings.Join(names, ", "))
	}
	return unknown(cmp.Or(path, k.Name), name, "the name of "+k.a(), name, names)
}

// number returns the component of the kind that is a number, such as a constant, if the tree is a number.
func (k Kind) number(tree any) (part reflect.Value, ok bool) {
	x, is := number(tree)
	for _, t := range k.Components() {
		if part = t.new(); is && part.CanFloat() {
			part.SetFloat(x)
			return part, true
		}
	}
	return part, false
}

// setStruct sets the options that a tree names.
func setStruct(path string, v reflect.Value, tree any) error {
	options, err := object(tree)
	if err != nil {
		return err
	}
	if options == nil {
		return fedkit.Invalid(cmp.Or(path, "options"), word(tree), "options with their values")
	}
	all, seen := fields(v.Type()), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if seen[nearest.Normal(name)] {
			return fedkit.Invalid(under(path, name), "given twice", "given once: case, dashes and underscores do not matter")
		}
		seen[nearest.Normal(name)] = true
		if err := setOption(path, v, all, name, options[name]); err != nil {
			return err
		}
	}
	return nil
}

// setOption sets the struct's field of this name.
func setOption(path string, v reflect.Value, all []reflect.StructField, name string, tree any) error {
	if same(name, "type") {
		if own, is := nameOf(v.Type()), word(tree); !same(is, own) && !same(is, own[strings.Index(own, ".")+1:]) {
			return fedkit.Invalid(under(path, name), is, own+", or left out")
		}
		return nil
	}
	var names []string
	for _, f := range all {
		if same(f.Name, name) {
			at := under(path, f.Name)
			tree, err := written(at, f, tree)
			if err != nil {
				return err
			}
			return set(at, v.FieldByIndex(f.Index), tree)
		}
		names = append(names, f.Name)
	}
	return unknown(under(path, name), word(tree), "an option of "+nameOf(v.Type()), name, names)
}

// written returns the tree for a field. An explicit 0 means 0, not the default: it is refused if the field cannot be 0.
func written(at string, f reflect.StructField, tree any) (any, error) {
	r, usual := f.Tag.Get("range"), f.Tag.Get("default")
	if x, ok := number(tree); !ok || x != 0 || r == "" || usual == "" {
		return tree, nil
	}
	if f.Type.Kind() == reflect.Float64 && strings.HasPrefix(r, "[0,") {
		return float64(fedkit.Zero), nil
	}
	return nil, fedkit.Invalid(at, word(tree), "in "+strings.Replace(r, ",", ", ", 1)+", or left out for "+usual)
}

func setList(path string, v reflect.Value, tree any) error {
	elements, ok := tree.([]any)
	if o, isObject := tree.(map[string]any); isObject && o["sha256"] != nil {
		return fedkit.Invalid(path, word(tree), "the list itself: only its hash was kept")
	}
	if !ok {
		elements = []any{tree}
	}
	list := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	for i, e := range elements {
		if err := set(fmt.Sprintf("%s[%d]", path, i), list.Index(i), e); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func setText(path string, t encoding.TextUnmarshaler, tree any) error {
	if err := t.UnmarshalText([]byte(word(tree))); err != nil {
		return fedkit.Invalid(path, word(tree), text.Short(err.Error()))
	}
	return nil
}

// setBasic sets a number, a bool, a string or an enumeration's value.
func setBasic(path string, v reflect.Value, tree any) error {
	text := word(tree)
	if names := constants(v.Type()); names != nil {
		for i, name := range names {
			if same(name, text) || text == strconv.Itoa(i) {
				v.SetInt(int64(i))
				return nil
			}
		}
		return unknown(path, text, "one of its names", text, names)
	}
	if c, ok := named[nearest.Normal(text)]; ok {
		text = c
	}
	switch k := v.Kind(); {
	case v.Type() == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		v.SetInt(int64(d))
		return refused(err == nil, path, tree, "a duration, such as 30s")
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return refused(err == nil, path, tree, "a whole number")
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
		return refused(err == nil, path, tree, "a whole number, at least 0")
	case v.CanFloat():
		x, ok := number(text)
		v.SetFloat(x)
		return refused(ok, path, tree, "a number")
	case k == reflect.Bool:
		b, ok := tree.(bool)
		v.SetBool(b)
		return refused(ok, path, tree, "true or false")
	case k == reflect.String:
		s, ok := tree.(string)
		v.SetString(s)
		return refused(ok, path, tree, "a text, in quotes")
	}
	return fedkit.Invalid(path, text, fmt.Sprintf("a %v, which can be made in Go only", v.Type()))
}

// named maps constants to the numbers they stand for.
var named = map[string]string{
	"zero":      strconv.FormatFloat(fedkit.Zero, 'g', -1, 64),
	"fullbatch": strconv.Itoa(fedkit.FullBatch),
	"never":     strconv.Itoa(fedkit.Never),
}

func refused(ok bool, path string, tree any, allowed string) error {
	if ok {
		return nil
	}
	return fedkit.Invalid(path, word(tree), allowed)
}

// number reads a number, which YAML and JSON may have left as text.
func number(tree any) (float64, bool) {
	if _, isBool := tree.(bool); isBool {
		return 0, false
	}
	x, err := strconv.ParseFloat(word(tree), 64)
	return x, err == nil
}

// object returns a tree's options; nil if it cannot have any. Names may be paths.
func object(tree any) (map[string]any, error) {
	switch tree := tree.(type) {
	case map[string]any:
		for name := range tree {
			if strings.Contains(name, ".") {
				o := map[string]any{}
				Merge(o, tree)
				return o, nil
			}
		}
		return tree, nil
	case string:
		return Parse(tree)
	}
	return nil, nil
}

// word writes a tree for errors.
func word(tree any) string {
	switch tree := tree.(type) {
	case nil:
		return "nothing"
	case map[string]any, []any:
		b, _ := json.Marshal(tree)
		return string(b)
	case float64:
		if tree == math.Trunc(tree) && math.Abs(tree) < 1<<53 { // 1000000, not 1e+06
			return strconv.FormatFloat(tree, 'f', -1, 64)
		}
	}
	return fmt.Sprint(tree)
}

func under(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func same(a, b string) bool { return nearest.Normal(a) == nearest.Normal(b) }

// unknown is the error for an unknown name. It suggests the known name with the smallest edit distance, unless nearly everything
// would have to change.
func unknown(field, value, allowed, name string, known []string) error {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 {
		return fedkit.Invalid(field, value, allowed+"; there are none")
	}
	if near := nearest.Of(name, known); near != "" {
		allowed += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fedkit.Invalid(field, value, allowed+": "+strings.Join(known, ", "))
}
