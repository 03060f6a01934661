package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MarshalJSON writes the configuration as the package's documentation says.
func (c *Config) MarshalJSON() ([]byte, error) { return appendJSON(nil, c.value), nil }

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, f.name), ':')
			b = appendJSON(b, f.value)
		}
		return append(b, '}')
	}
	leaf, _ := json.Marshal(v) // nil, a bool, a number or a valid string: no error
	return append(b, leaf...)
}

// UnmarshalJSON reads a configuration. A string, as old files have it, is kept as it is. Anything nested more than 1000
// deep is refused, and so is an object that has a key twice.
func (c *Config) UnmarshalJSON(b []byte) error {
	r := &reader{Decoder: json.NewDecoder(bytes.NewReader(b))}
	r.UseNumber()
	v := r.value(0)
	if _, err := r.Token(); r.err == nil && err != io.EOF {
		r.err = errors.New("more than one JSON value")
	}
	if r.err != nil {
		return fmt.Errorf("configuration: %w", r.err)
	}
	c.value = v
	return nil
}

// reader keeps the first error.
type reader struct {
	*json.Decoder
	err error
}

func (r *reader) value(depth int) any {
	switch t := r.token(); t {
	case json.Delim('['):
		list := []any{}
		for r.more(depth) {
			list = append(list, r.value(depth+1))
		}
		r.token()
		return list
	case json.Delim('{'):
		o, seen := object{}, map[string]bool{}
		for r.more(depth) {
			name, _ := r.token().(string)
			if seen[name] && r.err == nil {
				r.err = fmt.Errorf("two keys %q", name)
			}
			seen[name] = true
			o = append(o, field{name, r.value(depth + 1)})
		}
		r.token()
		return o
	default:
		return t
	}
}

func (r *reader) token() json.Token {
	t, err := r.Token()
	if r.err == nil {
		r.err = err
	}
	return t
}

func (r *reader) more(depth int) bool {
	if depth == 10*deepest && r.err == nil {
		r.err = errors.New("nested too deep")
	}
	return r.err == nil && r.More()
}
