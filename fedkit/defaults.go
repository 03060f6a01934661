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
// time, a Zero that became 0 would become the default. A run does it for its copy of the strategy.
func Defaults[T any](v T) T { return config.Defaults(v) }

// filling is a visitor that fills in the defaults of what is copied: a strategy, and those that it wraps, embeds or holds in exported
// fields. Their parts, and what States refer to, are shared.
func filling(n tree.Node) error {
	if leadsToStrategy(n) {
		return nil
	}
	config.Fill(n.Field, n.Value)
	return tree.Skip
}

// leadsToStrategy reports whether a node in a strategy is that strategy or another, or a struct or slice in which there may be one.
func leadsToStrategy(n tree.Node) bool {
	f, t := n.Field, n.Type
	if f.Name == "State" || n.Hidden() && !f.Anonymous {
		return false
	}
	return f.Name == "" || f.Anonymous || isStrategyType(t) || isStrategy(n.Value) || t.Kind() == reflect.Slice && isStrategyType(t.Elem())
}
