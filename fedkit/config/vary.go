package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

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
		return []Difference{{path, values(path, trees)}}
	}
	objects := make([]map[string]any, len(trees))
	for i, t := range trees {
		objects[i] = inside(t)
	}
	for _, name := range names(objects...) {
		parts := make([]any, len(trees))
		for i, o := range objects {
			parts[i] = field(o, name)
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

func values(path string, trees []any) []string {
	texts := make([]string, len(trees))
	for i, t := range trees {
		if texts[i] = write(t); path == "type" {
			texts[i] = fmt.Sprint(t)
		}
	}
	return texts
}
