package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
)

// Label describes a run in the user's words: α is 0.1.
type Label struct {
	Key, Value string // "α" and "0.1"
}

// String returns "α 0.1".
func (l Label) String() string { return l.Key + " " + l.Value }

// MarshalJSON writes a label as a pair.
func (l Label) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{l.Key, l.Value}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Label) UnmarshalJSON(b []byte) error {
	var pair [2]string
	err := json.Unmarshal(b, &pair)
	l.Key, l.Value = pair[0], pair[1]
	return err
}

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
		all = append(all, Label{key, fmt.Sprint(p[1])})
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
