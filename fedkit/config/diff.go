package config

import (
	"reflect"
	"slices"
)

// Diff returns one line per field that differs, in order: "Local.LR: 0.03, was 0.1", "Aggregator: aggregate.Median{}, was
// not set". If the values are of two types, that comes first: "type: strategy.FedProx, was strategy.FedAvg". There are no
// lines if and only if the configurations are equal. Either may be nil.
func Diff(was, is *Config) []string { return diff(nil, "", tree(was), tree(is)) }

func tree(c *Config) any {
	if c == nil {
		return absent{}
	}
	return c.value
}

// absent stands for a field that is not there.
type absent struct{}

func (absent) String() string { return "not set" }

func diff(lines []string, path string, was, is any) []string {
	if reflect.DeepEqual(was, is) {
		return lines
	}
	a, b := fieldsOf(was), fieldsOf(is)
	if a == nil || b == nil || reflect.TypeOf(was) != reflect.TypeOf(is) || path != "" && kind(a) != kind(b) {
		return append(lines, line(path, was, is))
	}
	for _, name := range union(b, a) {
		lines = diff(lines, join(path, name), a.get(name), b.get(name))
	}
	return lines
}

func line(path string, was, is any) string {
	write := text
	if path == "type" {
		write = bare
	}
	if path != "" {
		path += ": "
	}
	return path + write(is) + ", was " + write(was)
}

// fieldsOf returns what can be compared field by field: a struct, a map, or a list as fields [0], [1], …; else nil.
func fieldsOf(v any) object {
	switch v := v.(type) {
	case object:
		for _, f := range v {
			if special[f.name] && f.name != "type" {
				return nil
			}
		}
		return v
	case []any:
		o := object{}
		for i, e := range v {
			o = append(o, field{element(i), e})
		}
		return o
	}
	return nil
}

func kind(o object) string { return text(o.get("type")) }

func (o object) get(name string) any {
	if i := o.index(name); i >= 0 {
		return o[i].value
	}
	return absent{}
}

func (o object) index(name string) int {
	return slices.IndexFunc(o, func(f field) bool { return f.name == name })
}

// union returns the names in both objects. What only one has comes after what it follows there, first that of b.
func union(a, b object) (names []string) {
	for _, f := range b {
		for i := a.index(f.name); i >= 0; i-- {
			names = append(names, a[0].name)
			a = a[1:]
		}
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	for _, f := range a {
		names = append(names, f.name)
	}
	return names
}
