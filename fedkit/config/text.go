package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// String returns the configuration in one line, much like a Go literal with sorted fields; "" for nil:
//
//	strategy.FedAvg{Aggregator: aggregate.Median{}, Fraction: 0.5, Local: {Batch: 16, LR: 0.1}}
func (c *Config) String() string {
	if c == nil {
		return ""
	}
	return text(c.tree)
}

// text writes a tree, without quotes around a string.
func text(tree any) string {
	if s, ok := tree.(string); ok {
		return s
	}
	return write(tree)
}

func write(tree any) string {
	switch v := tree.(type) {
	case nil:
		return "nil"
	case string:
		if v == "NaN" || v == "+Inf" || v == "-Inf" {
			return v
		}
		return strconv.Quote(v)
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, write(e))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case map[string]any:
		return writeObject(v)
	}
	return fmt.Sprint(tree) // a bool or a number
}

func writeObject(o map[string]any) (s string) {
	kind, _ := o["type"].(string)
	if hasFields(o) {
		var all []string
		for _, name := range names(o) {
			if name != "type" {
				all = append(all, name+": "+write(o[name]))
			}
		}
		return kind + "{" + strings.Join(all, ", ") + "}"
	}
	switch name := cmp.Or(o["func"], o["unnamed"], o["key"]); {
	case name != nil:
		s = fmt.Sprint(name)
	case o["sha256"] != nil:
		s = fmt.Sprintf("%v elements, SHA-256 %.12v", o["len"], o["sha256"])
	default:
		s = write(o["value"])
	}
	if kind == "" {
		return s
	}
	return kind + "(" + s + ")"
}

// Diff returns one line per field that differs, in order: "Aggregator: aggregate.Median{}, was not set", "Local.LR: 0.03,
// was 0.1". Different types come first: "type: strategy.FedProx, was strategy.FedAvg". There are no lines if and only if the
// configurations are equal. Either may be nil.
func Diff(was, is *Config) (lines []string) {
	for _, d := range Vary(was, is) {
		lines = append(lines, strings.TrimPrefix(d.Path+": ", ": ")+d.Values[1]+", was "+d.Values[0])
	}
	return lines
}

// absent stands for a missing field. No JSON decodes to it.
const absent = json.Number("not set")

// special lists the keys that are not fields.
var special = []string{"type", "value", "func", "unnamed", "key", "len", "sha256"}

// hasFields reports whether the keys of an object, except "type", are fields.
func hasFields(o map[string]any) bool {
	return o != nil && !slices.ContainsFunc(special[1:], func(name string) bool { _, is := o[name]; return is })
}

// inside returns an object itself, a list as an object with the keys [0], [1], …, and nil for anything else.
func inside(tree any) map[string]any {
	list, ok := tree.([]any)
	if !ok {
		o, _ := tree.(map[string]any)
		return o
	}
	o := map[string]any{}
	for i, e := range list {
		o[element(i)] = e
	}
	return o
}

// names returns the union of the objects' keys, sorted: the type first, [2] before [10].
func names(objects ...map[string]any) []string {
	all := map[string]any{}
	for _, o := range objects {
		maps.Copy(all, o)
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y string) int { return cmp.Or(rank(x)-rank(y), cmp.Compare(x, y)) })
}

func rank(name string) int {
	switch {
	case name == "type":
		return -1
	case strings.HasPrefix(name, "["):
		return len(name)
	}
	return 0
}

// Difference is a field in which configurations differ.
type Difference struct {
	Path   string   // "Local.LR"; "type" for that of the root, "" for a root that has no fields
	Values []string // of each configuration: "0.1", or "not set"
}

// Vary returns the fields in which the configurations are not all equal, in order; none if all are equal. Any may be nil.
// An interface with values of several types is one field: "Aggregator", not its options.
func Vary(configs ...*Config) []Difference {
	trees := make([]any, len(configs))
	for i, c := range configs {
		trees[i] = cmp.Or[any](c.root(), absent)
	}
	return vary("", trees)
}

func vary(path string, trees []any) (all []Difference) {
	differs := func(t any) bool { return !reflect.DeepEqual(t, trees[0]) }
	if !slices.ContainsFunc(trees, differs) {
		return nil
	}
	if !haveFields(path, trees) {
		d := Difference{Path: path}
		for _, t := range trees {
			if path == "type" {
				d.Values = append(d.Values, text(t))
			} else {
				d.Values = append(d.Values, write(t))
			}
		}
		return []Difference{d}
	}
	objects := make([]map[string]any, len(trees))
	for i, t := range trees {
		objects[i] = inside(t)
	}
	for _, name := range names(objects...) {
		parts := make([]any, len(trees))
		for i, o := range objects {
			parts[i] = absent
			if v, ok := o[name]; ok {
				parts[i] = v
			}
		}
		all = append(all, vary(join(path, name), parts)...)
	}
	return all
}

// haveFields reports whether trees can be compared field by field: all are lists, or all are objects of one type.
func haveFields(path string, trees []any) bool {
	first := inside(trees[0])
	return !slices.ContainsFunc(trees, func(t any) bool {
		o := inside(t)
		oneType := path == "" || reflect.DeepEqual(o["type"], first["type"])
		return !hasFields(o) || reflect.TypeOf(t) != reflect.TypeOf(trees[0]) || !oneType
	})
}
