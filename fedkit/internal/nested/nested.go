// Package nested has strategies that hold others. S is the interface of strategies.
package nested

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/tree"
)

// All returns a strategy and those it wraps, outermost first.
func All[S any](s S) (all []S, err error) {
	for path := "strategy"; ; path = "strategy.Unwrap()" {
		v := reflect.ValueOf(s)
		if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fault.Invalid(path, "nil", "a strategy, such as &strategy.FedAvg{}")
		}
		if len(all) == 100 {
			return nil, fault.Invalid(path, fmt.Sprintf("%T", s), "a strategy that does not wrap itself")
		}
		all = append(all, s)
		outer, ok := any(s).(interface{ Unwrap() S })
		if !ok {
			return all, visible(all)
		}
		s = outer.Unwrap()
	}
}

// visible refuses wrapped strategies that no exported field holds: their options would be neither checked nor kept.
func visible[S any](all []S) error {
	for i, s := range all[1:] {
		seen := embeds(all[i], s)
		_ = config.Walk(all[i], func(_ string, part any) error {
			seen = seen || same(part, s)
			return nil
		})
		if !seen {
			return fault.Invalid("strategy.Unwrap()", fmt.Sprintf("%T", s), fmt.Sprintf("a pointer that an exported field of %T holds", all[i]))
		}
	}
	return nil
}

// embeds reports whether outer, or a struct that it embeds, embeds s in an exported field.
func embeds[S any](outer, s S) (found bool) {
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

// IsOneOf reports whether a part is one of the strategies.
func IsOneOf[S any](all []S, part any) bool {
	return slices.ContainsFunc(all, func(s S) bool { return same(part, s) })
}

// Field returns the exported field of the outermost strategy that has it, and its tag.
func Field[S any](all []S, name string) (f reflect.Value, tag reflect.StructTag) {
	for _, s := range all {
		if f, tag = config.Field(s, name); f.IsValid() {
			break
		}
	}
	return f, tag
}

// States returns the address of every State: of a strategy, of the structs it embeds, and of the strategies it wraps.
func States[S any](all []S) (states checkpoint.States) {
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

// Clone returns a copy of a strategy that can run concurrently with the original. The strategy, those it wraps and those in its
// exported fields are copied, with their options and without their States; their other parts are shared. Errors: a strategy that
// Run refuses, one in an unexported field, a wrapper whose copy still wraps the original.
func Clone[S any](s S) (c S, err error) {
	defer fault.Recovered("strategy", &err)
	all, err := All(s)
	if err != nil {
		return c, err
	}
	copies, err := copied(s, all, renew[S])
	if err != nil {
		return c, err
	}
	return copies[0], nil
}

// ToRun returns copies of a strategy and of all those that it wraps, with their defaults: see Filled.
func ToRun[S any](s S, all []S) (copies []S, err error) { return copied(s, all, fill[S]) }

// Filled returns a copy of a strategy with the defaults filled in, also of those that it wraps, embeds or holds in exported fields. Their
// parts, and what States refer to, are shared.
func Filled[S any](s S) (S, error) {
	err := tree.Own(reflect.ValueOf(&s).Elem(), anyType, fill[S])
	return s, err
}

// copied returns copies of a strategy and of all those that it wraps. The visitor enters what is copied.
func copied[S any](s S, all []S, visit tree.Visitor) (copies []S, err error) {
	if err := tree.Own(reflect.ValueOf(&s).Elem(), anyType, visit); err != nil {
		return nil, fault.Within("strategy", err)
	}
	if copies, err = All(s); err != nil {
		return nil, err
	}
	for i, inner := range copies[1:] {
		if IsOneOf(all, inner) {
			return nil, fault.Invalid("strategy.Unwrap()", fmt.Sprintf("%T", inner), fmt.Sprintf("held by an exported field of %T", copies[i]))
		}
	}
	return copies, nil
}

func anyType(reflect.Type) bool { return true }

// fill is a visitor that fills in defaults, and descends into strategies, and structs and slices in which there may be one.
func fill[S any](n tree.Node) error {
	f, t := n.Field, n.Type
	leads := f.Name == "" || f.Anonymous || Is[S](t) || Holds[S](n.Value) || t.Kind() == reflect.Slice && Is[S](t.Elem())
	if leads && f.Name != "State" && (f.Anonymous || !n.Hidden()) {
		return nil
	}
	config.Fill(f, n.Value)
	return tree.Skip
}

// renew is a visitor that clears States, and descends into what is copied: strategies, what they embed, and slices of them.
func renew[S any](n tree.Node) error {
	v, f, k := n.Value, n.Field, n.Type.Kind()
	switch {
	case f.Name == "State" && v.CanSet():
		v.SetZero()
	case k == reflect.Struct && (f.Name == "" || f.Anonymous || v.CanSet()):
		return nil
	case !v.CanSet():
		if Holds[S](v) {
			return fault.Invalid(f.Name, "unexported", "exported, so that it is copied, and part of the configuration")
		}
	case Holds[S](v), f.Anonymous && k == reflect.Pointer, k == reflect.Slice && v.Len() > 0 && Holds[S](v.Index(0)):
		return nil
	}
	return tree.Skip
}

// Holds reports whether a field holds a strategy.
func Holds[S any](v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v.IsValid() && !v.IsZero() && Is[S](v.Type())
}

func Is[S any](t reflect.Type) bool {
	is := reflect.TypeFor[S]()
	return t.Implements(is) || reflect.PointerTo(t).Implements(is)
}

// CheckStates refuses a strategy if a checkpoint would lose part of its State, or of those it wraps.
func CheckStates[S any](all []S) error {
	wrapped := func(path string, part any) error {
		if Is[S](reflect.TypeOf(part)) && path != "" && !IsOneOf(all, part) {
			return fault.Invalid(path, fmt.Sprintf("%T", part), "returned by a method Unwrap() fedkit.Strategy, so that "+saved)
		}
		return nil
	}
	state := func(path string, part any) error {
		if s, ok := part.(S); ok {
			return fault.Within(path, checkState(s))
		}
		return nil
	}
	return cmp.Or(config.Walk(all[0], wrapped), config.Walk(all[0], state))
}

// saved ends the errors about States.
const saved = "Options.Checkpoint can save its State"

func checkState[S any](s S) error {
	_, wraps := any(s).(interface{ Unwrap() S })
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.IsExported() && !f.Anonymous && Is[S](f.Type) {
				return fault.Invalid(f.Name, "unexported", "exported and returned by a method Unwrap() fedkit.Strategy, so that "+saved)
			}
		}
	}
	state, _ := config.Field(s, "State")
	switch {
	case !state.IsValid() && !wraps:
		return fault.Invalid("State", "missing", "an exported field with all that outlives a round (struct{} if nothing does), so that Options.Checkpoint can save it")
	case state.IsValid() && !state.CanAddr():
		return fault.Invalid("strategy", fmt.Sprintf("%T", s), "a pointer, so that "+saved)
	}
	for _, state := range statesIn(v) {
		if err := checkpoint.Savable("State", state.Type()); err != nil {
			return err
		}
	}
	return nil
}
