package catalog

import (
	"fmt"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/source"
)

// Register adds components of your own, so that files and command lines know them by the names of their types: zero values of
// structs, or pointers to them, with the methods of a kind.
//
//	err := catalog.Register(&HalfWay{}, Cover{}) // a strategy and a selector
//
// Options are the exported fields, with ranges and defaults from their tags as in shipped components. Names of constants are
// read from the source, if it is where it was when the program was built.
//
// Errors: a value that is no component, or not zero; a name that its kind has already. Nothing is added then.
func Register(components ...any) error { return known.register(components) }

// known is all that has a name.
var known = registry{own: shipped}

type registry struct {
	mu    sync.RWMutex
	kinds map[string][]Component // by kind; nil before the first use
	own   library                // of the packages of all components
}

// of returns the components of a kind.
func (r *registry) of(k Kind) []Component {
	r.mu.RLock()
	all := r.kinds
	r.mu.RUnlock()
	if all == nil {
		_ = r.register(nil) // adds nothing
		return r.of(k)
	}
	return all[k.Name]
}

// constantsOf returns the names of the constants of an enumeration; nil for any other type.
func (r *registry) constantsOf(name string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Concat(r.own[name], r.own["main."+name])
}

func (r *registry) register(components []any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, constants := map[string][]Component{}, library{}
	for _, k := range kinds {
		all[k.Name] = slices.Clone(r.kinds[k.Name])
		for i := 0; r.kinds == nil && i < len(k.values); i++ {
			all[k.Name] = append(all[k.Name], k.component(k.values[i]))
		}
	}
	for _, c := range components {
		of, err := kindsOf(c)
		if err != nil {
			return err
		}
		for _, k := range of {
			own := k.component(c)
			if slices.ContainsFunc(all[k.Name], func(t Component) bool { return same(t.Name, own.Name) }) {
				return fedkit.Invalid("component", fmt.Sprintf("%T", c), fmt.Sprintf("of a name that no %s has: there is %s already", k.Name, own.Name))
			}
			all[k.Name] = append(all[k.Name], own)
		}
		if folder := source.Folder(c); folder != "" {
			constants.readFolder(folder)
		}
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b Component) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	}
	maps.Copy(constants, r.own)
	r.kinds, r.own = all, constants
	return nil
}

// component returns the component of the kind with this zero value.
func (k Kind) component(zero any) Component {
	name := nameOf(reflect.TypeOf(zero))
	return Component{Kind: k, Name: name[strings.LastIndex(name, ".")+1:], zero: zero}
}

// kindsOf returns the kinds of a component of your own, mostly one.
func kindsOf(c any) (of []Kind, err error) {
	v := reflect.ValueOf(c)
	isPointer := v.Kind() == reflect.Pointer && !v.IsNil()
	if isPointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || !token.IsIdentifier(v.Type().Name()) {
		return nil, fedkit.Invalid("component", fmt.Sprintf("%T", c), "a struct with a name, or a pointer to one")
	}
	if !v.IsZero() {
		return nil, fedkit.Invalid("component", fmt.Sprintf("%T", c), "zero: options are set where it is used, and defaults are in tags")
	}
	var names []string
	for _, k := range kinds {
		if names = append(names, k.Name); reflect.TypeOf(c).Implements(k.Type) {
			of = append(of, k)
		} else if reflect.PointerTo(v.Type()).Implements(k.Type) {
			return nil, fedkit.Invalid("component", fmt.Sprintf("%T", c), fmt.Sprintf("a pointer, &%s{}: its methods as %s have one", v.Type().Name(), k.a()))
		}
	}
	if of == nil {
		return nil, fedkit.Invalid("component", fmt.Sprintf("%T", c), "of a kind, with the methods of its interface: "+strings.Join(names, ", "))
	}
	return of, nil
}
