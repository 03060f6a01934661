// Package tree walks values and types as trees, in the sense of JAX's pytrees: structs, slices, arrays, maps, pointers and
// interfaces are branches, everything else is a leaf. The rules are the same for every walk: fields come under their names,
// embedded ones too; what a pointer, slice or map refers to is entered once, however many refer to it; visitors decide what to
// skip. A strategy's options, whose embedded structs add no names to a path, are walked by config.Walk.
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

// A visitor returns nil, one of these signals, or an error of its own, which ends the walk.
var (
	Skip error = signal("do not look inside")
	Stop error = signal("found") // for Holds
)

type signal string

func (s signal) Error() string { return string(s) }

// Node is a value or a type on a walk.
type Node struct {
	Value reflect.Value
	Type  reflect.Type
	Field reflect.StructField // that holds it; without a name for elements and pointees
	Path  string              // of a type: ".Head[…].Next"
	Again bool                // what it refers to was visited before, and is not entered again
	Above bool                // it refers to one of its ancestors, or is more than 100,000 references deep
}

// Hidden reports whether an unexported field holds the node. Its value can be read, but not set.
func (n Node) Hidden() bool { return n.Field.Name != "" && !n.Field.IsExported() }

// A Visitor is called for a node before its children.
type Visitor func(n Node) error

// Walk visits v and the values in it, and prunes types that into refuses: there may be millions of no interest. It returns the
// first error, and the path of the value whose visit returned it: ".Head.Next[3]".
func Walk(v reflect.Value, into func(reflect.Type) bool, visit Visitor) (path string, err error) {
	w := walk{into: into, visit: visit, entered: map[referent]bool{}}
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
	entered map[referent]bool // true while it is on the path
	depth   int
	path    []string // of an error, innermost first
}

// referent is what a pointer, slice or map refers to. For a slice it includes the length, as others may begin at the same
// address.
type referent struct {
	of  reflect.Type
	at  unsafe.Pointer
	len int
}

func referentOf(v reflect.Value) (s referent, refers bool) {
	switch k := v.Kind(); {
	case k == reflect.Pointer && !v.IsNil():
		return referent{v.Type(), v.UnsafePointer(), 1}, true
	case (k == reflect.Slice || k == reflect.Map) && v.Len() > 0:
		return referent{v.Type(), v.UnsafePointer(), v.Len()}, true
	}
	return referent{}, false
}

func (w *walk) value(v reflect.Value, f reflect.StructField) error {
	if !v.IsValid() || !w.into(v.Type()) {
		return nil
	}
	n := Node{Value: v, Type: v.Type(), Field: f}
	s, refers := referentOf(v)
	if refers {
		n.Above, n.Again = w.entered[s]
		n.Above = n.Above || w.depth == maxDepth
	}
	err := w.visit(n)
	if n.Again || n.Above {
		return unlessSkip(err)
	}
	if refers {
		w.entered[s], w.depth = err == nil, w.depth+1
		defer func() { w.entered[s], w.depth = false, w.depth-1 }()
	}
	if err != nil {
		return unlessSkip(err)
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

func unlessSkip(err error) error {
	if err == Skip {
		return nil
	}
	return err
}

// Types visits a type and the types reachable from its values, and enters each of them once.
func Types(t reflect.Type, visit Visitor) error {
	entered := map[reflect.Type]bool{} // true while it is on the path
	var look func(n Node) error
	look = func(n Node) error {
		n.Above, n.Again = entered[n.Type]
		if err := visit(n); err != nil || n.Again {
			return unlessSkip(err)
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

// Holds returns a memoized function that reports whether a type leads to one for which visit returns Stop.
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

// SavesItself reports whether gob leaves a type to its own methods.
func SavesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	gobs := p.Implements(reflect.TypeFor[gob.GobEncoder]()) && p.Implements(reflect.TypeFor[gob.GobDecoder]())
	return gobs || p.Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) && p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]())
}
