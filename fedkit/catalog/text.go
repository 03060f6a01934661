package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/yaml"
)

// Parse reads a component in one line into a tree: its name, unless only options are given, and options with their paths.
//
//	Parse("NearestMix F=2 By=Krum By.F=1") // {"type": "NearestMix", "F": 2, "By": {"type": "Krum", "F": 1}}
//
// Values are YAML: numbers, true, names, lists such as [0, 90].
func Parse(text string) (map[string]any, error) {
	tree := map[string]any{}
	for i, word := range words(text) {
		path, value, isOption := strings.Cut(word, "=")
		if !isOption {
			if i > 0 || strings.ContainsAny(word, "[{'\"") {
				return nil, fedkit.Invalid("option", fmt.Sprintf("%q", word), "written as Name=value, after the name of the component")
			}
			tree["type"] = word
			continue
		}
		v, err := yaml.Read([]byte(value))
		if err != nil || path == "" || value == "" {
			return nil, fedkit.Invalid("option", fmt.Sprintf("%q", word), "a name, =, and a value such as 0.1, true, Krum or [0, 90]")
		}
		Set(tree, path, yaml.Plain(v))
	}
	return tree, nil
}

// Text writes a component in one line, as Parse reads it.
func Text(tree any) string {
	o, isMap := tree.(map[string]any)
	if !isMap {
		return word(tree)
	}
	return strings.Join(assignments("", o), " ")
}

// assignments returns a name and options with their paths: "By=Krum", "By.F=1".
func assignments(path string, o map[string]any) (all []string) {
	kind := key(o, "type")
	switch name, named := o[kind]; {
	case named && path == "":
		all = append(all, word(name))
	case named:
		all = append(all, path+"="+word(name))
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		at := under(path, name)
		switch inner, isMap := o[name].(map[string]any); {
		case name == kind:
		case isMap:
			all = append(all, assignments(at, inner)...)
		default:
			all = append(all, at+"="+word(o[name]))
		}
	}
	return all
}

// words splits a text at spaces that are not in brackets or quotes.
func words(text string) (all []string) {
	depth, quote := 0, rune(0)
	inside := func(r rune) bool {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("[{", r):
			depth++
		case strings.ContainsRune("]}", r):
			depth--
		}
		return depth > 0 || quote != 0
	}
	return strings.FieldsFunc(text, func(r rune) bool { return !inside(r) && unicode.IsSpace(r) })
}
