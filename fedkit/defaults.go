package fedkit

import (
	"reflect"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/tree"
)

// Defaults returns v with the defaults of its options, which are the numbers in the tags of its fields. A part, such as an
// aggregator, calls it at the beginning of its methods:
//
//	func (s Scaled) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
//		s = fedkit.Defaults(s)
//		…
//
// Each such field of v, or of a struct that v embeds, becomes that number if it is 0, and 0 if it is Zero. Everything else stays as
// it is: a default in words is for readers, and a value that is not a struct has none. It is called once for a value: the second
// time, a Zero that became 0 would become the default. A run does it for its strategy, while a method of the strategy runs.
func Defaults[T any](v T) T { return config.Defaults(v) }

// withDefaults fills in the defaults of a strategy and of those that it wraps, embeds or holds in exported fields, until restore is
// called. A strategy that is not a pointer is copied.
func withDefaults(s Strategy) (filled Strategy, restore func()) {
	v := reflect.New(reflect.TypeOf(s)).Elem()
	v.Set(reflect.ValueOf(s))
	var all []func()
	_, _ = tree.Walk(v, anyType, func(n tree.Node) error {
		if leadsToStrategy(n) {
			return nil
		}
		if undo := config.SetDefault(n.Field, n.Value); undo != nil {
			all = append(all, undo)
		}
		return tree.Skip
	})
	return v.Interface().(Strategy), func() {
		for _, undo := range all {
			undo()
		}
	}
}

// leadsToStrategy reports whether a node in a strategy is that strategy or another, or a struct or slice in which there may be one.
func leadsToStrategy(n tree.Node) bool {
	f, t := n.Field, n.Type
	if f.Name == "State" || n.Hidden() && !f.Anonymous {
		return false
	}
	return f.Name == "" || f.Anonymous || isStrategyType(t) || isStrategy(n.Value) || t.Kind() == reflect.Slice && isStrategyType(t.Elem())
}

// checkOptions calls the Check of a part. That of a strategy sees its defaults, in a copy: the strategy may be checked twice at a time.
func checkOptions(c Checker, fed *Federation, n int) error {
	s, ok := c.(Strategy)
	if !ok {
		return c.Check(fed, n)
	}
	err := tree.Own(reflect.ValueOf(&s).Elem(), anyType, func(n tree.Node) error {
		if leadsToStrategy(n) {
			return nil
		}
		return tree.Skip
	})
	if err != nil {
		return err
	}
	filled, _ := withDefaults(s)
	return filled.(Checker).Check(fed, n)
}
