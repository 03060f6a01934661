package study

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
)

// checkHidden refuses unexported fields that are set to a number, a text or a function: they are options that the key would
// not tell apart. What can be computed again, such as a map that is made when it is nil, is no option.
func checkHidden(in string, v any) error {
	err := config.Walk(v, func(path string, part any) error {
		if _, ok := part.(encoding.TextMarshaler); ok {
			return nil
		}
		if s := reflect.Indirect(reflect.ValueOf(part)); s.Kind() == reflect.Struct {
			return hiddenIn(path, s)
		}
		return nil
	})
	var h hidden
	if errors.As(err, &h) {
		return fedkit.Invalid(in+h.path, h.value, "an exported field, since the run is stored under its configuration")
	}
	return nil
}

func hiddenIn(path string, s reflect.Value) error {
	for _, f := range reflect.VisibleFields(s.Type()) {
		in, err := s.FieldByIndexErr(f.Index)
		if err != nil || f.IsExported() || f.Anonymous || in.IsZero() || s.Type().Field(f.Index[0]).Name == "State" {
			continue
		}
		if k := in.Kind(); k <= reflect.Complex128 || k == reflect.String || k == reflect.Func {
			if path != "" {
				path += "."
			}
			return hidden{path + f.Name, fmt.Sprint(in)}
		}
	}
	return nil
}

// hidden is a field that is not part of the configuration.
type hidden struct{ path, value string }

func (h hidden) Error() string { return h.path }
