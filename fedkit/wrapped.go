package fedkit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/checkpoint"
	"fedkit.example/fedkit/internal/fault"
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

// cohort returns a strategy's cohort size: from the participation rate in its field Fraction, or all clients if it has none.
func cohort(all []Strategy, m int) (int, error) {
	f, tag := field(all, "Fraction")
	if !f.IsValid() || f.Kind() != reflect.Float64 {
		return m, nil
	}
	share := f.Float()
	if !(share >= 0 && share <= 1) {
		return 0, Invalid("Fraction", share, config.Allowed("(0,1]", cmp.Or(tag.Get("default"), "every client"), false))
	}
	if usual, err := strconv.ParseFloat(tag.Get("default"), 64); err == nil && share == 0 {
		share = usual
	}
	return cohortSize(share, m), nil
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

// Clone returns a copy of a strategy that can run concurrently with the original. The strategy, those it wraps and those in its
// exported fields are copied, with their options and without their States; their other parts are shared. Errors: a strategy that
// Run refuses, one in an unexported field, a wrapper whose copy still wraps the original.
func Clone(s Strategy) (c Strategy, err error) {
	defer fault.Recovered("strategy", &err)
	all, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	copies, err := copied(s, all, renew)
	if err != nil {
		return nil, err
	}
	return copies[0], nil
}

// copied returns copies of a strategy and of all those that it wraps. The visitor enters what is copied.
func copied(s Strategy, all []Strategy, visit tree.Visitor) (copies []Strategy, err error) {
	if err := tree.Own(reflect.ValueOf(&s).Elem(), anyType, visit); err != nil {
		return nil, fault.Within("strategy", err)
	}
	if copies, err = unwrap(s); err != nil {
		return nil, err
	}
	for i, inner := range copies[1:] {
		if isOneOf(all, inner) {
			return nil, Invalid("strategy.Unwrap()", fmt.Sprintf("%T", inner), fmt.Sprintf("held by an exported field of %T", copies[i]))
		}
	}
	return copies, nil
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
