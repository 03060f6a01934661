package fedkit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/tree"
)

// checkStates refuses what a strategy, and those it wraps, would lose in a checkpoint.
func checkStates(all []Strategy) error {
	err := config.Walk(all[0], func(path string, part any) error {
		byPointer := reflect.PointerTo(reflect.TypeOf(part)).Implements(reflect.TypeFor[Strategy]())
		if _, ok := part.(Strategy); (ok || byPointer) && path != "" && !isOneOf(all, part) {
			return Invalid(path, fmt.Sprintf("%T", part), "returned by a method Unwrap() fedkit.Strategy, so that "+saved)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return config.Walk(all[0], func(path string, part any) error {
		if s, ok := part.(Strategy); ok {
			return fault.Within(path, checkState(s))
		}
		return nil
	})
}

// saved is why a State is refused.
const saved = "Options.Checkpoint can save its State"

func checkState(s Strategy) error {
	_, wraps := s.(interface{ Unwrap() Strategy })
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if is := reflect.TypeFor[Strategy](); !f.IsExported() && !f.Anonymous && (f.Type.Implements(is) || reflect.PointerTo(f.Type).Implements(is)) {
				return Invalid(f.Name, "unexported", "exported and returned by a method Unwrap() fedkit.Strategy, so that "+saved)
			}
		}
	}
	state, _ := config.Field(s, "State")
	switch {
	case !state.IsValid() && !wraps:
		return Invalid("State", "missing", "an exported field with all that outlives a round (struct{} if nothing does), so that Options.Checkpoint can save it")
	case state.IsValid() && !state.CanAddr():
		return Invalid("strategy", fmt.Sprintf("%T", s), "a pointer, so that "+saved)
	}
	for _, state := range statesIn(v) {
		if err := checkSaved("State", state.Type(), nil); err != nil {
			return err
		}
	}
	return nil
}

// checkSaved refuses types that gob does not save whole.
func checkSaved(path string, t reflect.Type, above []reflect.Type) error {
	switch k := t.Kind(); {
	case tree.SavesItself(t) || slices.Contains(above, t):
	case k == reflect.Func, k == reflect.Chan, k == reflect.Interface, k == reflect.UnsafePointer:
		return Invalid(path, t, "of a type that encoding/gob saves whole: no function, channel or interface")
	case k == reflect.Map:
		return cmp.Or(checkSaved(path+"[key]", t.Key(), append(above, t)), checkSaved(path+"[…]", t.Elem(), append(above, t)))
	case k == reflect.Slice, k == reflect.Array:
		return checkSaved(path+"[…]", t.Elem(), append(above, t))
	case k == reflect.Pointer && t.Elem().Kind() != reflect.Struct && !tree.SavesItself(t.Elem()):
		return Invalid(path, t, "no pointer: encoding/gob does not tell one to 0 from nil")
	case k == reflect.Pointer:
		return checkSaved(path, t.Elem(), append(above, t))
	case k == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			at := path + "." + f.Name
			if f.Name != "_" && !f.IsExported() {
				return Invalid(at, "unexported", "exported, or encoding/gob leaves it out of the checkpoint")
			}
			if err := checkSaved(at, f.Type, append(above, t)); err != nil {
				return err
			}
		}
	}
	return nil
}
