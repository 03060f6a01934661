package fedkit

import (
	"fmt"
	"reflect"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/tree"
)

// Clone returns a copy of a strategy that can run concurrently with the original. The strategy, those it wraps and those in its
// exported fields are copied, with their options and without their States; their other parts are shared. Errors: a strategy that
// Run refuses, one in an unexported field, a wrapper whose copy still wraps the original.
func Clone(s Strategy) (c Strategy, err error) {
	defer fault.Recovered("strategy", &err)
	all, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	v := reflect.ValueOf(&s).Elem()
	if err := tree.Own(v, anyType, renew); err != nil {
		return nil, fault.Within("strategy", err)
	}
	copied, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	for i, inner := range copied[1:] {
		if isOneOf(all, inner) {
			return nil, Invalid("strategy.Unwrap()", fmt.Sprintf("%T", inner), fmt.Sprintf("held by an exported field of %T", copied[i]))
		}
	}
	return copied[0], nil
}

func anyType(reflect.Type) bool { return true }

// renew is a visitor that clears States, and descends into what is copied: strategies, what they embed, and slices of them.
func renew(n tree.Node) error {
	v, f, k := n.Value, n.Field, n.Type.Kind()
	switch {
	case f.Name == "State" && v.CanSet():
		v.SetZero()
	case k == reflect.Struct && (f.Name == "" || f.Anonymous || v.CanSet()):
		return nil
	case !v.CanSet():
		if isStrategy(v) {
			return Invalid(f.Name, "unexported", "exported, so that it is copied, and part of the configuration")
		}
	case isStrategy(v), f.Anonymous && k == reflect.Pointer, k == reflect.Slice && v.Len() > 0 && isStrategy(v.Index(0)):
		return nil
	}
	return tree.Skip
}

// isStrategy reports whether a field holds a strategy.
func isStrategy(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.IsValid() && !v.IsZero() && isStrategyType(v.Type())
}

func isStrategyType(t reflect.Type) bool {
	is := reflect.TypeFor[Strategy]()
	return t.Implements(is) || reflect.PointerTo(t).Implements(is)
}
