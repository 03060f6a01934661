// Package catalog has a name for every ready-made component, such as strategies, aggregators and data sets.
// Build makes one from its name and options, as given in a file or on a command line:
//
//	s, err := catalog.Build[fedkit.Strategy]("FedAvg Fraction=0.5 Local.LR=0.1 Aggregator=Krum Aggregator.F=2")
//
// Types and options come from the code itself, and names of constants from its source. Importing this package adds all of them to a
// program; notebooks do not need it. Register adds your own.
package catalog

import (
	"reflect"
	"slices"
	"strings"

	"fedkit.example/fedkit/config"
)

// Kind is a kind of interchangeable components: strategies, aggregators, …
type Kind struct {
	Name, Plural string       // "aggregator", "aggregators"
	Type         reflect.Type // the interface that they implement
	values       []any        // the zero value of each
}

// Component is one ready-made component, or one of your own.
type Component struct {
	Kind Kind   // what it is: a strategy, a selector, …
	Name string // "FedProx"
	zero any
}

// Kinds returns all kinds, strategies first.
func Kinds() []Kind { return slices.Clone(kinds) }

// Components returns all components of the kind, by name.
func (k Kind) Components() []Component { return slices.Clone(known.of(k)) }

// Type returns the component's name in Go, with its package: "strategy.FedProx", "datasets.Digits".
func (t Component) Type() string { return nameOf(reflect.TypeOf(t.zero)) }

// new returns a new zero value; for a strategy, a pointer to one.
func (t Component) new() reflect.Value {
	v := reflect.ValueOf(t.zero)
	if v.Kind() == reflect.Pointer {
		return reflect.New(v.Type().Elem())
	}
	return reflect.New(v.Type()).Elem()
}

// nameOf returns the name of a type without a pointer's star. For a type that wraps a function, it is the function's.
func nameOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := functions[t]; ok {
		return name
	}
	return strings.TrimPrefix(t.String(), "main.")
}

// a is the kind with its indefinite article.
func (k Kind) a() string {
	if strings.ContainsRune("aeiou", rune(k.Name[0])) {
		return "an " + k.Name
	}
	return "a " + k.Name
}

// kindOf returns the kind whose components fit into a field of the type: its own interface, or a narrower one.
func kindOf(field reflect.Type) (Kind, bool) {
	for _, k := range kinds {
		if field == k.Type || field.Kind() == reflect.Interface && field.Implements(k.Type) {
			return k, true
		}
	}
	return Kind{}, false
}

// named reports whether the name stands for the component: "FedProx", "fed-prox", "strategy.FedProx", or as config.Of writes it.
func (t Component) named(name string) bool {
	return same(name, t.Name) || same(name, t.Type()) || strings.Contains(name, ".") && name == t.written()
}

// written is the name of the type in a configuration: "example.com/mine.HalfWay".
func (t Component) written() string {
	name, _ := config.Of(t.zero).At("type")
	return name
}
