package study

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
)

// Label describes a run in the user's words: α is 0.1.
type Label = history.Label

// labels makes labels of alternating keys and values.
func labels(pairs []any) (all []Label, err error) {
	if len(pairs)%2 != 0 {
		return nil, fedkit.Invalid("labels", fmt.Sprint(pairs...), `pairs of a key and a value, such as "α", 0.1`)
	}
	for p := range slices.Chunk(pairs, 2) {
		key, ok := p[0].(string)
		if !ok || strings.TrimSpace(key) == "" {
			return nil, fedkit.Invalid("label", fmt.Sprintf("%#v", p[0]), "a key, which is a string that is not empty")
		}
		if slices.ContainsFunc(all, func(l Label) bool { return l.Key == key }) {
			return nil, fedkit.Invalid("label", fmt.Sprintf("%q given twice", key), "different keys")
		}
		all = append(all, Label{Key: key, Value: fmt.Sprint(p[1])})
	}
	return all, nil
}

// called is a name with its labels: "FedAvg, α 0.1".
func called(name string, labels []Label) string {
	for _, l := range labels {
		name += ", " + l.String()
	}
	return name
}
