package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Set sets one option in a tree: Set(tree, "Local.LR", 0.1). Missing levels are created, and an existing value is merged with the
// new one.
func Set(tree map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for i := len(names) - 1; i > 0; i-- {
		value = map[string]any{names[i]: value}
	}
	name := key(tree, names[0])
	tree[name] = merged(tree[name], value)
}

// Merge merges from into a tree: options replace those of the same name, the options of a part are merged, and null removes an
// option.
func Merge(tree, from map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if there := key(tree, name); from[name] == nil && tree[there] != nil {
			delete(tree, there)
			continue
		}
		Set(tree, name, from[name])
	}
}

// merged merges one value into another, if both are parts and one of them has options.
func merged(old, value any) any {
	into, add := part(old), part(value)
	if into == nil || add == nil || !hasOptions(old) && !hasOptions(value) {
		return value
	}
	into = maps.Clone(into) // it may be shared with other trees
	Merge(into, add)
	return into
}

// part returns the tree of a part, which may be written in one line; nil for anything else.
func part(v any) map[string]any {
	o, err := object(v)
	if err != nil {
		return nil
	}
	return o
}

func hasOptions(v any) bool {
	text, isText := v.(string)
	return !isText || strings.Contains(text, "=")
}

// key returns the tree's own spelling of an option, or else the given one.
func key(tree map[string]any, name string) string {
	for k := range tree {
		if same(k, name) {
			return k
		}
	}
	return name
}
