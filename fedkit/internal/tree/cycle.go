// Package tree walks values as encoding/gob does: exported fields, elements, and what pointers and interfaces hold. What saves
// itself is not looked into.
package tree

import (
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Cycle returns where a value holds what holds it, such as ".Head.Next", and whether it does anywhere: encoding/gob and recursive
// copies then end the program. A value more than maxDepth pointers, slices and maps deep does as well, and counts as one.
func Cycle(v reflect.Value) (path string, found bool) {
	t := trail{entered: map[spot]bool{}}
	if !t.cycle(v) {
		return "", false
	}
	if most := 20; len(t.path) > most {
		t.path = append(t.path[:most], "…")
	}
	return strings.Join(t.path, ""), true
}

const maxDepth = 100_000

// trail is how a walk came to a value.
type trail struct {
	path    []string
	entered map[spot]bool
}

// spot is what a pointer, slice or map refers to. A slice is one with its length, as others may begin where it does.
type spot struct {
	of  reflect.Type
	at  unsafe.Pointer
	len int
}

func (t *trail) cycle(v reflect.Value) bool {
	if !v.IsValid() || !mayLoop(v.Type()) {
		return false
	}
	switch k := v.Kind(); {
	case k == reflect.Interface:
		return t.cycle(v.Elem())
	case k == reflect.Pointer && !v.IsNil():
		return t.enter(spot{v.Type(), v.UnsafePointer(), 1}, func() bool { return t.cycle(v.Elem()) })
	case k == reflect.Slice, k == reflect.Map:
		return v.Len() > 0 && t.enter(spot{v.Type(), v.UnsafePointer(), v.Len()}, func() bool { return t.elements(v) })
	case k == reflect.Array:
		return t.elements(v)
	case k == reflect.Struct:
		for f, in := range v.Fields() {
			if f.IsExported() && t.step("."+f.Name, in) {
				return true
			}
		}
	}
	return false
}

// enter looks into what a spot refers to, unless that is above it.
func (t *trail) enter(at spot, look func() bool) bool {
	if t.entered[at] || len(t.entered) == maxDepth {
		return true
	}
	t.entered[at] = true
	found := look()
	delete(t.entered, at)
	return found
}

func (t *trail) elements(v reflect.Value) bool {
	for key, in := range v.Seq2() {
		if t.step(fmt.Sprintf("[%v]", key), in) {
			return true
		}
	}
	return false
}

// step looks at a field or an element; the path stays where the cycle is.
func (t *trail) step(name string, v reflect.Value) bool {
	t.path = append(t.path, name)
	found := t.cycle(v)
	if !found {
		t.path = t.path[:len(t.path)-1]
	}
	return found
}

// mayLoop says whether values of a type can hold themselves: most cannot, and there may be millions of them.
func mayLoop(t reflect.Type) bool {
	known, ok := looping.Load(t)
	if !ok {
		known, _ = looping.LoadOrStore(t, leadsBack(t, nil))
	}
	return known.(bool)
}

var looping sync.Map // by type

// leadsBack says whether a type leads to itself, to one that does, or to an interface.
func leadsBack(t reflect.Type, above []reflect.Type) bool {
	if slices.Contains(above, t) {
		return true
	}
	above = append(slices.Clip(above), t)
	switch k := t.Kind(); {
	case SavesItself(t):
	case k == reflect.Interface:
		return true
	case k == reflect.Map:
		return leadsBack(t.Key(), above) || leadsBack(t.Elem(), above)
	case k == reflect.Pointer, k == reflect.Slice, k == reflect.Array:
		return leadsBack(t.Elem(), above)
	case k == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && leadsBack(f.Type, above) {
				return true
			}
		}
	}
	return false
}

// SavesItself says whether gob leaves a type to its own methods.
func SavesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	gobs := p.Implements(reflect.TypeFor[gob.GobEncoder]()) && p.Implements(reflect.TypeFor[gob.GobDecoder]())
	return gobs || p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) && p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}
