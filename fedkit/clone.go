package fedkit

import (
	"cmp"
	"fmt"
	"reflect"

	"fedkit.example/fedkit/internal/fault"
)

// Clone returns a copy of a strategy that can run at the same time as the strategy itself. The strategy, those it wraps and
// those that its exported fields hold are copied, with their options and without their States; their other parts are
// shared. Errors: a strategy that Run refuses, one in an unexported field, a wrapper whose copy still wraps the same
// strategy.
func Clone(s Strategy) (c Strategy, err error) {
	defer fault.Recovered("strategy", &err)
	all, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	v, err := cloned(reflect.ValueOf(s), map[any]reflect.Value{})
	if err != nil {
		return nil, fault.Within("strategy", err)
	}
	copied, err := unwrap(v.Interface().(Strategy))
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

// cloned copies what a pointer holds, once for all who hold it.
func cloned(v reflect.Value, copies map[any]reflect.Value) (reflect.Value, error) {
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return v, nil
	}
	if c, ok := copies[v.Interface()]; ok {
		return c, nil
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	copies[v.Interface()] = c
	return c, renew(c.Elem(), copies)
}

// renew empties the States of a copied struct, and of those embedded in it, and copies the strategies that it holds.
func renew(v reflect.Value, copies map[any]reflect.Value) (err error) {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for f, in := range v.Fields() {
		switch {
		case f.Name == "State" && in.CanSet():
			in.SetZero()
		case in.Kind() == reflect.Struct && (f.Anonymous || in.CanSet()):
			err = renew(in, copies)
		case !in.CanSet():
			if isStrategy(in) {
				err = Invalid(f.Name, "unexported", "exported, so that it is copied, and part of the configuration")
			}
		case f.Anonymous && in.Kind() == reflect.Pointer, isStrategy(in):
			err = renewPointer(in, copies)
		case in.Kind() == reflect.Slice && in.Len() > 0 && isStrategy(in.Index(0)):
			in.Set(reflect.AppendSlice(reflect.Zero(in.Type()), in))
			for i := range in.Len() {
				err = cmp.Or(err, renewPointer(in.Index(i), copies))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// renewPointer copies what a field points to.
func renewPointer(field reflect.Value, copies map[any]reflect.Value) error {
	v := field
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	c, err := cloned(v, copies)
	if err == nil && c.IsValid() {
		field.Set(c)
	}
	return err
}

// isStrategy says whether a field has a strategy.
func isStrategy(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.IsValid() && !v.IsZero() && (v.Type().Implements(reflect.TypeFor[Strategy]()) || reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[Strategy]()))
}
