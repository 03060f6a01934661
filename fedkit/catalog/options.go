package catalog

import (
	"encoding"
	"reflect"
	"strings"
)

// Option is a field that can be set.
type Option struct {
	Name    string   `json:"name"`              // "Mu"
	Type    string   `json:"type"`              // "float64", "aggregator", "one of Corrected, Reddi"
	Default string   `json:"default,omitempty"` // as in the struct's tag; otherwise the comment may say it
	Range   string   `json:"range,omitempty"`   // "[0,1)"; "" for any value
	Options []Option `json:"options,omitempty"` // of a struct
}

// Options returns the options of a struct, or of what a pointer to one points to. Those of an embedded struct are among
// its own.
func Options(t reflect.Type) (options []Option) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, f := range fields(t) {
		o := Option{Name: f.Name, Type: typeOf(f.Type), Default: f.Tag.Get("default"), Range: f.Tag.Get("range")}
		if f.Type.Kind() == reflect.Struct && !isText(f.Type) {
			o.Options = Options(f.Type)
		}
		options = append(options, o)
	}
	return options
}

// fields returns what can be set in a struct: exported fields, with those of embedded structs in place, without those of a State.
func fields(t reflect.Type) (all []reflect.StructField) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		embedded := f.Anonymous && f.Type.Kind() == reflect.Struct
		if f.IsExported() && !embedded && f.Name != "State" && holder(t, f).Name() != "State" {
			all = append(all, f)
		}
	}
	return all
}

// holder returns the struct that declares a field: t or one that is embedded in it.
func holder(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// typeOf names a type for those who write files, not Go.
func typeOf(t reflect.Type) string {
	if k, ok := kindOf(t); ok {
		return k.Name
	}
	if names := constants(t); names != nil {
		return "one of " + strings.Join(names, ", ")
	}
	if t.Kind() == reflect.Slice {
		return "list of " + typeOf(t.Elem())
	}
	if all := fields(t); all != nil && !isText(t) {
		names := make([]string, len(all))
		for i, f := range all {
			names[i] = f.Name
		}
		return "{" + strings.Join(names, ", ") + "}"
	}
	return t.String()
}

// constants returns the names of an enumeration's values 0, 1, …; nil for any other type.
func constants(t reflect.Type) []string {
	if t.PkgPath() == "" || t.Kind() != reflect.Int {
		return nil
	}
	if names := shipped()[t.String()]; names != nil {
		return names
	}
	return known.constantsOf(t.String())
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
