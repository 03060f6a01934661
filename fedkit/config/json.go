package config

import (
	"bytes"
	"cmp"
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
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := read(d, 0)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("configuration: more than one JSON value")
	}
	c.value = v
	return nil
}

func read(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil || depth > 10*deepest {
		return nil, cmp.Or(err, errors.New("nested too deep"))
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := read(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		return readObject(d, depth)
	}
	return t, nil
}

func readObject(d *json.Decoder, depth int) (any, error) {
	o, seen := object{}, map[any]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("two keys %q", name)
		}
		seen[name] = true
		v, err := read(d, depth+1)
		if err != nil {
			return nil, err
		}
		o = append(o, field{name.(string), v})
	}
	_, err := d.Token()
	return o, err
}
