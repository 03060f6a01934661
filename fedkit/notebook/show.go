package notebook

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Show shows the values of the last line of a cell: by their method Show, such as a figure or a table, or else as text.
func Show(values ...any) {
	for _, v := range Values(values...) {
		if s, ok := v.(interface{ Show() }); ok {
			s.Show()
		} else {
			fmt.Println(Text(v))
		}
	}
}

// Values returns which values of an expression to show: none that is nil, and nothing of a function such as fmt.Println or Write,
// which returns a number of bytes and an error. Panics with the last value if that is an error.
func Values(values ...any) (shown []any) {
	if len(values) == 0 {
		return nil
	}
	last := values[len(values)-1]
	if err, ok := last.(error); ok {
		panic(err)
	}
	if _, written := values[0].(int); written && len(values) == 2 && last == nil {
		return nil
	}
	for _, v := range values {
		if v != nil {
			shown = append(shown, v)
		}
	}
	return shown
}

const (
	most = 10 // numbers and texts of a list, entries of a map
	few  = 3  // longer elements of a list
	deep = 4  // depth of nested values
)

// Text is the value as text: that of its method String or Error, else about as Go writes it, without zero fields. Long lists are
// cut short, as a data set would be megabytes.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		return "nil"
	}
	if t := reflect.TypeOf(v); t.Kind() == reflect.Func {
		return t.String() + ": a function; parentheses after its name call it"
	}
	var b strings.Builder
	write(&b, reflect.ValueOf(v), deep)
	return b.String()
}

func write(b *strings.Builder, v reflect.Value, levels int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
	}
	if own, ok := ownText(v); ok {
		b.WriteString(own)
		return
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		if levels == 0 {
			b.WriteString("…")
			return
		}
	}
	switch v.Kind() {
	case reflect.Interface:
		write(b, v.Elem(), levels)
	case reflect.Pointer:
		b.WriteString("&")
		write(b, v.Elem(), levels)
	case reflect.Struct:
		writeFields(b, v, levels-1)
	case reflect.Slice, reflect.Array:
		shown := few
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
			shown = most
		}
		writeList(b, "[", v.Len(), shown, func(i int) { write(b, v.Index(i), levels-1) })
	case reflect.Map:
		writeMap(b, v, levels-1)
	case reflect.String:
		fmt.Fprintf(b, "%q", v)
	case reflect.Func:
		b.WriteString(v.Type().String())
	default:
		fmt.Fprint(b, v)
	}
}

// ownText is the value's own text.
func ownText(v reflect.Value) (string, bool) {
	if !v.CanInterface() {
		return "", false
	}
	switch v := v.Interface().(type) {
	case error:
		return v.Error(), true
	case fmt.Stringer:
		return v.String(), true
	}
	return "", false
}

func writeFields(b *strings.Builder, v reflect.Value, levels int) {
	b.WriteString(v.Type().String() + "{")
	between, open := "", v.NumField() == 0
	for i := range v.NumField() {
		f := v.Type().Field(i)
		open = open || f.IsExported()
		if f.IsExported() && !v.Field(i).IsZero() {
			b.WriteString(between + f.Name + ": ")
			write(b, v.Field(i), levels)
			between = ", "
		}
	}
	if !open { // unexported fields only
		b.WriteString("…")
	}
	b.WriteString("}")
}

func writeMap(b *strings.Builder, v reflect.Value, levels int) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	writeList(b, "map[", len(keys), most, func(i int) {
		write(b, keys[i], levels)
		b.WriteString(": ")
		write(b, v.MapIndex(keys[i]), levels)
	})
}

func writeList(b *strings.Builder, open string, n, shown int, element func(i int)) {
	b.WriteString(open)
	for i := range min(n, shown) {
		if i > 0 {
			b.WriteString(" ")
		}
		element(i)
	}
	if n > shown {
		fmt.Fprintf(b, " … %d in all", n)
	}
	b.WriteString("]")
}
