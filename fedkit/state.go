package fedkit

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"fedkit.example/fedkit/internal/rows"
)

// settleState looks at every matrix that a State keeps. It returns the error of one that failed, and where it is, and the bytes of
// all matrices and of all slices of numbers. It puts together matrices in pieces, whose sums are rounded otherwise: when that
// happens must not depend on who looks at them first.
func settleState(states []any) (bytes int64, err error) {
	k := keeper{entered: map[spot]bool{}}
	for _, state := range states {
		if path, err := k.settle(reflect.ValueOf(state).Elem()); err != nil {
			return 0, fmt.Errorf("%s: %w", "State"+path, err)
		}
	}
	return k.bytes, nil
}

// keeper adds up what is kept. It enters each pointer, slice and map once.
type keeper struct {
	entered map[spot]bool
	bytes   int64
}

// spot is what a pointer, slice or map refers to. A slice is one with its length, as others may begin where it does.
type spot struct {
	of  reflect.Type
	at  unsafe.Pointer
	len int
}

func (k *keeper) settle(v reflect.Value) (path string, err error) {
	t := v.Type()
	if !mayHold(t) {
		return "", nil
	}
	switch kind := v.Kind(); {
	case kind == reflect.Slice && isNumeric(t.Elem()):
		k.bytes += int64(v.Len()) * int64(t.Elem().Size()) // shared or not: in a checkpoint they are not
		return "", nil
	case kind == reflect.Pointer, kind == reflect.Slice, kind == reflect.Map:
		here := spot{of: t, at: v.UnsafePointer()}
		if kind != reflect.Pointer {
			here.len = v.Len()
		}
		if v.IsNil() || k.entered[here] {
			return "", nil
		}
		k.entered[here] = true
	}
	switch v.Kind() {
	case reflect.Pointer:
		if t == reflect.TypeFor[*Matrix]() {
			m := (*Matrix)(v.UnsafePointer())
			k.bytes += 4 * int64(m.Rows()) * int64(m.Cols())
			_, err = rows.Tensor(m)
			return "", err
		}
		return k.settle(v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			return k.settle(v.Elem())
		}
	case reflect.Struct:
		for f, in := range v.Fields() {
			if path, err = k.settle(in); err != nil {
				return "." + f.Name + path, err
			}
		}
	case reflect.Slice, reflect.Array, reflect.Map:
		for key, in := range v.Seq2() {
			if path, err = k.settle(in); err != nil {
				return fmt.Sprintf("[%v]%s", key, path), err
			}
		}
	}
	return "", nil
}

// isNumeric says whether values of a type are numbers, or arrays of numbers.
func isNumeric(t reflect.Type) bool {
	k := t.Kind()
	return reflect.Int <= k && k <= reflect.Complex128 && k != reflect.Uintptr || k == reflect.Array && isNumeric(t.Elem())
}

// mayHold says whether a value of a type can lead to a matrix or a slice of numbers: many cannot, and there may be millions of them.
func mayHold(t reflect.Type) bool {
	known, ok := holders.Load(t)
	if !ok {
		known, _ = holders.LoadOrStore(t, leads(t, map[reflect.Type]bool{}))
	}
	return known.(bool)
}

var holders sync.Map // by type

func leads(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return t == reflect.TypeFor[*Matrix]() || leads(t.Elem(), seen)
	case reflect.Slice:
		return isNumeric(t.Elem()) || leads(t.Elem(), seen)
	case reflect.Array, reflect.Map:
		return leads(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if leads(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
