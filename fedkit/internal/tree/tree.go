// Package tree walks values and types as trees, in the sense of JAX's pytrees: structs, slices, arrays, maps, pointers and
// interfaces are branches, everything else is a leaf. The rules are the same for every walk: fields come under their names,
// embedded ones too; what a pointer, slice or map refers to is entered once, however many refer to it; visitors decide what
// to leave out. Options of a strategy, whose embedded structs have no names of their own, are config.Walk's.
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

// What a visitor may return beside nil and an error of its own, which ends the walk.
var (
	Skip error = signal("do not look inside")
	Stop error = signal("found") // for Holds
)

type signal string

func (s signal) Error() string { return string(s) }

// Node is a value on a walk, or a type.
type Node struct {
	Value reflect.Value
	Type  reflect.Type
	Field reflect.StructField // that holds it; without a name for an element and for what is pointed to
	Path  string              // of a type: ".Head[…].Next"
	Again bool                // what it refers to was visited before, and is not entered again
	Above bool                // it leads back to what holds it, or is more than 100,000 references deep
}

// Hidden says whether an unexported field holds the node. Its value can be read, but not set.
func (n Node) Hidden() bool { return n.Field.Name != "" && !n.Field.IsExported() }

// A Visitor is called for a node before what is in it.
type Visitor func(n Node) error

// Walk visits v and the values in it, of the types that into allows: there may be millions that are of no interest. It returns
// the first error, and the path of the value whose visit returned it: ".Head.Next[3]".
func Walk(v reflect.Value, into func(reflect.Type) bool, visit Visitor) (path string, err error) {
	w := walk{into: into, visit: visit, entered: map[spot]bool{}}
	if err = w.value(v, reflect.StructField{}); err == nil {
		return "", nil
	}
	slices.Reverse(w.path)
	if most := 20; len(w.path) > most {
		w.path = append(w.path[:most], "…")
	}
	return strings.Join(w.path, ""), err
}

const maxDepth = 100_000

type walk struct {
	into    func(reflect.Type) bool
	visit   Visitor
	entered map[spot]bool // true until it is left
	depth   int
	path    []string // of an error, from its end
}

// spot is what a pointer, slice or map refers to. A slice is one with its length, as others may begin where it does.
type spot struct {
	of  reflect.Type
	at  unsafe.Pointer
	len int
}

func spotOf(v reflect.Value) (s spot, refers bool) {
	switch k := v.Kind(); {
	case k == reflect.Pointer && !v.IsNil():
		return spot{v.Type(), v.UnsafePointer(), 1}, true
	case (k == reflect.Slice || k == reflect.Map) && v.Len() > 0:
		return spot{v.Type(), v.UnsafePointer(), v.Len()}, true
	}
	return spot{}, false
}

func (w *walk) value(v reflect.Value, f reflect.StructField) error {
	if !v.IsValid() || !w.into(v.Type()) {
		return nil
	}
	n := Node{Value: v, Type: v.Type(), Field: f}
	s, refers := spotOf(v)
	if refers {
		n.Above, n.Again = w.entered[s]
		n.Above = n.Above || w.depth == maxDepth
	}
	err := w.visit(n)
	if n.Again || n.Above {
		return unless(err)
	}
	if refers {
		w.entered[s] = err == nil
	}
	if err != nil {
		return unless(err)
	}
	if refers {
		w.depth++
		defer func() { w.entered[s], w.depth = false, w.depth-1 }()
	}
	return w.inside(v)
}

func (w *walk) inside(v reflect.Value) error {
	switch k := v.Kind(); {
	case k == reflect.Interface, k == reflect.Pointer:
		return w.value(v.Elem(), reflect.StructField{})
	case k == reflect.Struct:
		for f, in := range v.Fields() {
			if err := w.value(in, f); err != nil {
				w.path = append(w.path, "."+f.Name)
				return err
			}
		}
	case (k == reflect.Slice || k == reflect.Array) && w.into(v.Type().Elem()), k == reflect.Map:
		for key, in := range v.Seq2() {
			if err := w.value(in, reflect.StructField{}); err != nil {
				w.path = append(w.path, fmt.Sprintf("[%v]", key))
				return err
			}
		}
	}
	return nil
}

func unless(err error) error {
	if err == Skip {
		return nil
	}
	return err
}

// Types visits a type and those that its values lead to. It enters each of them once.
func Types(t reflect.Type, visit Visitor) error {
	entered := map[reflect.Type]bool{} // true until it is left
	var look func(n Node) error
	look = func(n Node) error {
		n.Above, n.Again = entered[n.Type]
		if err := visit(n); err != nil || n.Again {
			return unless(err)
		}
		entered[n.Type] = true
		defer func() { entered[n.Type] = false }()
		switch t := n.Type; t.Kind() {
		case reflect.Pointer:
			return look(Node{Type: t.Elem(), Path: n.Path})
		case reflect.Map:
			if err := look(Node{Type: t.Key(), Path: n.Path + "[key]"}); err != nil {
				return err
			}
			return look(Node{Type: t.Elem(), Path: n.Path + "[…]"})
		case reflect.Slice, reflect.Array:
			return look(Node{Type: t.Elem(), Path: n.Path + "[…]"})
		case reflect.Struct:
			for i := range t.NumField() {
				f := t.Field(i)
				if err := look(Node{Type: f.Type, Field: f, Path: n.Path + "." + f.Name}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return look(Node{Type: t})
}

// Holds returns a function that says whether a type leads to one for which visit returns Stop. It remembers its answers.
func Holds(visit Visitor) func(reflect.Type) bool {
	var known sync.Map
	return func(t reflect.Type) bool {
		holds, ok := known.Load(t)
		if !ok {
			holds, _ = known.LoadOrStore(t, Types(t, visit) == Stop)
		}
		return holds.(bool)
	}
}

// SavesItself says whether gob leaves a type to its own methods.
func SavesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	gobs := p.Implements(reflect.TypeFor[gob.GobEncoder]()) && p.Implements(reflect.TypeFor[gob.GobDecoder]())
	return gobs || p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) && p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}
