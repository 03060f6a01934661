package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Set sets one option in a tree: Set(tree, "Local.LR", 0.1). What is on the way is made, and what is there already is
// merged with the value.
func Set(tree map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for i := len(names) - 1; i > 0; i-- {
		value = map[string]any{names[i]: value}
	}
	name := key(tree, names[0])
	tree[name] = merged(tree[name], value)
}

// Merge puts what from has into a tree: options replace those of the same name, and the options of a part those of the part.
func Merge(tree, from map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		Set(tree, name, from[name])
	}
}

// merged returns a value with another one put into it. A part that is written in one line is a tree too.
func merged(old, value any) any {
	if old == nil {
		return value
	}
	add, isTree := value.(map[string]any)
	into := map[string]any{}
	switch old := old.(type) {
	case map[string]any:
		into = maps.Clone(old) // it may be shared with other trees
		if text, ok := value.(string); ok {
			if part, err := Parse(text); err == nil {
				add, isTree = part, true
			}
		}
	case string:
		if part, err := Parse(old); err == nil && isTree {
			into = part
		}
	}
	if !isTree {
		return value
	}
	Merge(into, add)
	return into
}

// key returns the name that the tree has for an option already, or else the given one.
func key(tree map[string]any, name string) string {
	for k := range tree {
		if same(k, name) {
			return k
		}
	}
	return name
}
