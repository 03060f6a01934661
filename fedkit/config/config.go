// Package config represents Go values, such as a strategy with its options and parts, as configurations: the type, and the
// exported fields that differ from zero. Equal values have equal configurations, and equal bytes as JSON.
//
// A configuration is a tree of JSON values, with sorted keys. A struct or map is an object with one key per field. If it is
// the root or is held in an interface, it has a "type" too:
//
//	{"Aggregator": {"type": "aggregate.Median"}, "Fraction": 0.5, "Local": {"Batch": 16, "LR": 0.1}, "type": "strategy.FedAvg"}
//
// Other lowercase keys stand for what is not a struct or map: "value" is a number, string, bool or list that has a type,
// "func" the name of a function, "key" what a method Key returns, "unnamed" a value that cannot be represented, and "len" and "sha256"
// describe a long list.
package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Config is the configuration of a value. Configurations may be compared with reflect.DeepEqual.
type Config struct {
	tree any // nil, bool, json.Number, string, []any or map[string]any
}

func (c *Config) root() any {
	if c == nil {
		return nil
	}
	return c.tree
}

// MarshalJSON writes the configuration in the format of the package documentation.
func (c *Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.root()) }

// UnmarshalJSON reads a configuration.
func (c *Config) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&c.tree); err != nil {
		return err
	}
	if s, is := c.tree.(string); is {
		return fmt.Errorf("the configuration is the text %.40q, as an older version of fedkit wrote it: compute the run again, or read it with that version", s)
	}
	return nil
}

// Name returns the name of the value's type, without its package and type arguments: "FedAvg".
func (c *Config) Name() string {
	name, _ := c.At("type")
	name, _, _ = strings.Cut(name, "[")
	return name[strings.LastIndex(name, ".")+1:]
}

// At returns the value at a path, as String writes it: "0.1" at "Local.LR", "aggregate.Krum" at "Aggregator.type". It is not ok if
// the value is zero, or there is no such field.
func (c *Config) At(path string) (is string, ok bool) {
	tree := c.root()
	for name := range strings.FieldsFuncSeq(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' }) {
		o := inside(tree)
		if value, typed := o["value"]; typed {
			o = inside(value)
		}
		if tree, ok = o[name]; !ok {
			return "", false
		}
	}
	return text(tree), true
}

// Unnamed returns the paths of values that cannot be represented, so that the configuration is incomplete: functions without a
// name, such as closures, and cyclic or too deeply nested values. A closure in a struct with a non-empty field Name has that
// name.
func (c *Config) Unnamed() []string { return unnamed("", c.root()) }

func unnamed(path string, tree any) (paths []string) {
	o := inside(tree)
	if o["unnamed"] != nil {
		return []string{path}
	}
	for _, name := range names(o) {
		paths = append(paths, unnamed(join(path, name), o[name])...)
	}
	return paths
}

// Field returns an exported field of a struct, or of the struct v points to, embedded structs included, and its tag. The field is
// invalid if there is none.
func Field(v any, name string) (field reflect.Value, tag reflect.StructTag) {
	s := reflect.Indirect(reflect.ValueOf(v))
	if s.Kind() != reflect.Struct {
		return field, tag
	}
	f, ok := s.Type().FieldByName(name)
	if in, err := s.FieldByIndexErr(f.Index); ok && err == nil && in.CanInterface() { // not in an embedded nil pointer
		return in, f.Tag
	}
	return field, tag
}
