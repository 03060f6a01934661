// Package yaml reads untrusted YAML files within bounds of size, depth and time.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fedkit.example/fedkit/internal/text"
	"go.yaml.in/yaml/v3"
)

// Limits of a file. Aliases count as their expansion.
const (
	mostBytes  = 1 << 20
	mostValues = 100_000
	deepest    = 100 // nested lists and maps
)

// Map is a map in the order of the file. Its keys are unique.
type Map []Item

// Item is an entry of a Map.
type Item struct {
	Key   string
	Value any
}

// Read returns the one document of a file: nil, a bool, a number, a string, a []any or a Map.
//
// Errors: invalid YAML, and files larger or deeper than anybody writes.
func Read(file []byte) (any, error) {
	if len(file) > mostBytes {
		return nil, fmt.Errorf("it has %d bytes: must be at most %d", len(file), mostBytes)
	}
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(file))
	if err := d.Decode(&document); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := d.Decode(&more); err != io.EOF {
		return nil, errors.Join(errors.New("it has more than one document"), err)
	}
	return new(reader).value(&document, 0)
}

// Plain returns the value with unordered maps.
func Plain(value any) any {
	switch v := value.(type) {
	case Map:
		m := make(map[string]any, len(v))
		for _, i := range v {
			m[i.Key] = Plain(i.Value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = Plain(e)
		}
		return list
	}
	return value
}

type reader struct{ values int }

func (r *reader) value(n *yaml.Node, depth int) (any, error) {
	switch r.values++; {
	case r.values > mostValues:
		return nil, fmt.Errorf("line %d: more than %d values, those that aliases stand for included", n.Line, mostValues)
	case depth > deepest:
		return nil, fmt.Errorf("line %d: more than %d lists and maps inside one another", n.Line, deepest)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1) // which may contain the alias
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, e := range n.Content {
			var err error
			if list[i], err = r.value(e, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	}
	return scalar(n)
}

// scalar reads one word. Dates stay text, and so do numbers such as 1e-3, which are labels as written.
func scalar(n *yaml.Node) (value any, err error) {
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	switch value.(type) {
	case time.Time:
		return n.Value, nil
	case float64:
		if strings.ContainsAny(n.Value, "eE") {
			return n.Value, nil
		}
	}
	return value, nil
}

// mapping reads a map. Merged entries stand at the place of the merge, without keys that the map has itself.
func (r *reader) mapping(n *yaml.Node, depth int) (Map, error) {
	m, seen := Map{}, map[string]bool{}
	for key := range slices.Chunk(n.Content, 2) {
		if key[0].Kind == yaml.ScalarNode && key[0].Tag != merge {
			if seen[key[0].Value] {
				return nil, fmt.Errorf("line %d: %q is given twice in one map", key[0].Line, text.Short(key[0].Value))
			}
			seen[key[0].Value] = true
		} else if key[0].Tag != merge {
			return nil, fmt.Errorf("line %d: a key must be a word", key[0].Line)
		}
	}
	for pair := range slices.Chunk(n.Content, 2) {
		value, err := r.value(pair[1], depth+1)
		if err != nil {
			return nil, err
		}
		if pair[0].Tag != merge {
			m = append(m, Item{pair[0].Value, value})
			continue
		}
		all, isList := value.([]any)
		if !isList {
			all = []any{value}
		}
		for _, one := range all {
			items, isMap := one.(Map)
			if !isMap {
				return nil, fmt.Errorf("line %d: <<: must be a map or a list of maps", pair[0].Line)
			}
			for _, i := range items {
				if !seen[i.Key] {
					seen[i.Key] = true
					m = append(m, i)
				}
			}
		}
	}
	return m, nil
}

const merge = "!!merge"
