package fedkit

import (
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/tree"
)

// unwrap returns a strategy and those it wraps, outermost first.
func unwrap(s Strategy) (all []Strategy, err error) {
	for path := "strategy"; ; path = "strategy.Unwrap()" {
		v := reflect.ValueOf(s)
		if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, Invalid(path, "nil", "a strategy, such as &strategy.FedAvg{}")
		}
		if len(all) == 100 {
			return nil, Invalid(path, fmt.Sprintf("%T", s), "a strategy that does not wrap itself")
		}
		all = append(all, s)
		outer, ok := s.(interface{ Unwrap() Strategy })
		if !ok {
			return all, visible(all)
		}
		s = outer.Unwrap()
	}
}

// visible refuses wrapped strategies that no exported field holds: their options would be neither checked nor kept.
func visible(all []Strategy) error {
	for i, s := range all[1:] {
		seen := embeds(all[i], s)
		_ = config.Walk(all[i], func(_ string, part any) error {
			seen = seen || same(part, s)
			return nil
		})
		if !seen {
			return Invalid("strategy.Unwrap()", fmt.Sprintf("%T", s), fmt.Sprintf("a pointer that an exported field of %T holds", all[i]))
		}
	}
	return nil
}

// embeds reports whether outer, or a struct that it embeds, embeds s in an exported field.
func embeds(outer, s Strategy) (found bool) {
	_, _ = tree.Walk(reflect.Indirect(reflect.ValueOf(outer)), anyType, func(n tree.Node) error {
		v := n.Value
		if n.Hidden() {
			return tree.Skip
		}
		if n.Field.Anonymous {
			found = found || same(v.Interface(), s) || v.CanAddr() && same(v.Addr().Interface(), s)
		}
		if isEmbedded(n) {
			return nil
		}
		return tree.Skip
	})
	return found
}

// same reports whether two values are the same pointer.
func same(a, b any) bool {
	return a != nil && reflect.TypeOf(a).Kind() == reflect.Pointer && a == b
}

// isOneOf reports whether a part is one of the strategies.
func isOneOf(all []Strategy, part any) bool {
	return slices.ContainsFunc(all, func(s Strategy) bool { return same(part, s) })
}

// field returns the exported field of the outermost strategy that has it, and its tag.
func field(all []Strategy, name string) (f reflect.Value, tag reflect.StructTag) {
	for _, s := range all {
		if f, tag = config.Field(s, name); f.IsValid() {
			break
		}
	}
	return f, tag
}

// statesOf returns the address of every State: of a strategy, of the structs it embeds, and of the strategies it wraps.
func statesOf(all []Strategy) (states checkpoint.States) {
	for _, s := range all {
		for _, state := range statesIn(reflect.Indirect(reflect.ValueOf(s))) {
			if p := state.Addr().Interface(); !slices.Contains(states, p) {
				states = append(states, p)
			}
		}
	}
	return states
}

// statesIn returns the States in v, without empty ones, which have nothing to save and may share an address.
func statesIn(v reflect.Value) (states []reflect.Value) {
	_, _ = tree.Walk(v, anyType, func(n tree.Node) error {
		switch f := n.Field; {
		case f.Name == "State" && n.Value.CanAddr() && f.Type.Size() > 0:
			states = append(states, n.Value)
		case isEmbedded(n):
			return nil
		}
		return tree.Skip
	})
	return states
}

// isEmbedded reports whether a node is a strategy, or a struct embedded in one.
func isEmbedded(n tree.Node) bool {
	k := n.Type.Kind()
	return (n.Field.Name == "" || n.Field.Anonymous) && (k == reflect.Struct || k == reflect.Pointer)
}
