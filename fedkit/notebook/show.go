package notebook

import "fmt"

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
