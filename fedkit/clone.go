package fedkit

import (
	"fmt"
	"reflect"
)

// Clone returns a copy of a strategy that can run at the same time as the strategy itself. The strategy and those it wraps
// are copied, with their options and without their States; their parts are shared. Errors: a strategy that Run refuses, a
// wrapper whose copy still wraps the same strategy.
func Clone(s Strategy) (Strategy, error) {
	all, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	var inner Strategy
	for i := len(all) - 1; i >= 0; i-- {
		var old Strategy
		if i < len(all)-1 {
			old = all[i+1]
		}
		copied := cloned(all[i], old, inner)
		if outer, ok := copied.(interface{ Unwrap() Strategy }); ok && same(outer.Unwrap(), old) {
			return nil, Invalid("strategy.Unwrap()", fmt.Sprintf("%T", old), fmt.Sprintf("held by an exported field of %T", copied))
		}
		inner = copied
	}
	return inner, nil
}

// cloned copies what a pointer holds, with another strategy in place of the one that it wraps.
func cloned(s, old, by Strategy) Strategy {
	v := reflect.ValueOf(s)
	if v.Kind() != reflect.Pointer {
		return s
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	renew(c.Elem(), old, by)
	return c.Interface().(Strategy)
}

// renew empties the States of a copied struct, and of those embedded in it, and puts one strategy in place of another.
func renew(v reflect.Value, old, by Strategy) {
	if v.Kind() != reflect.Struct {
		return
	}
	for f, in := range v.Fields() {
		switch {
		case !in.CanSet():
		case f.Name == "State":
			in.SetZero()
		case old != nil && same(in.Interface(), old):
			in.Set(reflect.ValueOf(by))
		case f.Anonymous && in.Kind() == reflect.Pointer && !in.IsNil() && in.Elem().Kind() == reflect.Struct:
			copied := reflect.New(in.Type().Elem())
			copied.Elem().Set(in.Elem())
			in.Set(copied)
			renew(copied.Elem(), old, by)
		case in.Kind() == reflect.Struct:
			renew(in, old, by)
		}
	}
}
