package catalog

import (
	"fmt"
	"strings"
	"unicode"

	"fedkit.example/fedkit"
	"github.com/goccy/go-yaml"
)

// Parse reads a part in one line into a tree: its name, unless only options are given, and options with their paths.
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
				return nil, fedkit.Invalid("option", fmt.Sprintf("%q", word), "written as Name=value, after the name of the thing")
			}
			tree["type"] = word
			continue
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil || path == "" {
			return nil, fedkit.Invalid("option", fmt.Sprintf("%q", word), "a name, =, and a value such as 0.1, true, Krum or [0, 90]")
		}
		Set(tree, path, v)
	}
	return tree, nil
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
